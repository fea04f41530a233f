"""The page's own tests (web/test): its models without a browser, then its parts in one. Needs Chromium; its absence is said."""
import os
import unittest

from page_browser_test import WORK, BrowserTest


class Parts(BrowserTest):
    def test_the_tests_of_the_page_pass(self):
        files = [os.path.join("test", kind, name) for kind in ("unit", "browser")
                 for name in sorted(os.listdir(os.path.join(WORK, "test", kind))) if name.endswith(".test.mjs") and name != "real.test.mjs"]
        self.node_test(*files)


if __name__ == "__main__":
    unittest.main()
