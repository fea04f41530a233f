"""Pages that lockstep wrote, in a real browser. Needs Chromium; its absence is said."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from compare_test import SMALL
from page_test import LATE
from support import BIN, DATA, ROOT, run, simulate

WORK = os.path.join(os.path.dirname(BIN), "web", "npm")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")


def what_failed(text):
    """The first test that failed, of the many that did not, with what follows; the end where none says so."""
    failed = re.search(r"^ *not ok", text, re.M)
    return text[failed.start():][:6000] if failed else text[-6000:]


@unittest.skipUnless(CHROMIUM, "SKIPPED LOUDLY: there is no browser (package chromium), so that no page is looked at")
@unittest.skipUnless(os.path.isdir(os.path.join(WORK, "node_modules")), "SKIPPED LOUDLY: this build has no pages")
class BrowserTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="lockstep-acceptance-")
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.rmtree(os.path.join(WORK, "test"), ignore_errors=True)
        shutil.copytree(os.path.join(ROOT, "web", "test"), os.path.join(WORK, "test"))

    def write(self, name, *args):
        for form in ("html", "json"):
            done = run("lockstep", *args, "--format", form, "--output", os.path.join(self.folder, "pages", f"{name}.{form}"))
            self.assertEqual(done.returncode, 0, done.stderr)

    def node_test(self, *files):
        environment = {**os.environ, "CHROMIUM": CHROMIUM, "LOCKSTEP_PAGES": os.path.join(self.folder, "pages"),
                       "LOCKSTEP_SCREENSHOTS": os.environ.get("LOCKSTEP_SCREENSHOTS", os.path.join(self.folder, "shots"))}
        done = subprocess.run(["node", "--test", "--test-concurrency=1", *files], cwd=WORK, env=environment, capture_output=True,
                              text=True, timeout=800)
        self.assertEqual(done.returncode, 0, what_failed(done.stdout + done.stderr))
        passed = int(re.search(r"^(?:# |\S+ )pass (\d+)", done.stdout, re.M)[1])
        self.assertGreater(passed, 5, done.stdout[-2000:])


class WrittenPages(BrowserTest):
    def test_pages_of_simulated_and_real_runs_open_without_a_complaint(self):
        os.mkdir(os.path.join(self.folder, "pages"))
        late = simulate(os.path.join(self.folder, "late"), *LATE)
        base = simulate(os.path.join(self.folder, "base"), *SMALL, "--seed", 1)
        slower = simulate(os.path.join(self.folder, "slower"), *SMALL, "--seed", 2, "--model-scale", 1.2)
        alone = simulate(os.path.join(self.folder, "alone"), "--tp", "1", "--steps", "4", "--layers", "2")
        self.write("late", "analyze", late)
        self.write("alone", "analyze", alone)
        self.write("compared", "compare", base, slower)
        self.write("noticed", "compare", "--base", base, base, "--new", slower)
        if os.path.isdir(DATA):
            self.write("dlrm", "analyze", os.path.join(DATA, "kineto", "param_dlrm_8rank_v100"))
        self.node_test(os.path.join("test", "browser", "real.test.mjs"))


if __name__ == "__main__":
    unittest.main()
