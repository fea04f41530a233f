"""The digest of sources (cmake/WriteSourceDigest.cmake): what the compiler sees changes it, comments do not."""
import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
SOURCE = """// What it is.
#include <string>

// Why it is so.
int Answer() { return 42; }  // of everything
const char* Where() { return "http://example.org"; }
"""


class SourceDigest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lockstep-digest-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def digest(self, text, name="a.cc"):
        source, listed, out = (os.path.join(self.folder, file) for file in (name, "list.txt", "out.cc"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        with open(listed, "w", encoding="utf-8") as file:
            file.write(source + "\n")
        subprocess.run(["cmake", f"-DROOT={self.folder}", f"-DLIST={listed}", "-DFUNCTION=Digest", f"-DOUT={out}", "-P",
                        os.path.join(ROOT, "cmake", "WriteSourceDigest.cmake")], check=True)
        with open(out, encoding="utf-8") as file:
            return re.search(r'return "([0-9a-f]{64})"', file.read())[1]

    def test_comments_and_empty_lines_do_not_change_it(self):
        whole = self.digest(SOURCE)
        for changed in (SOURCE.replace("Why it is so", "Why"), SOURCE.replace("// What it is.\n", ""),
                        SOURCE.replace("of everything", "of all"), SOURCE.replace("  // of everything", ""),
                        SOURCE.replace("\n\n", "\n\n\n"), SOURCE.replace("// Why", "// Whence\n// and why")):
            self.assertEqual(self.digest(changed), whole, changed)

    def test_code_and_what_is_inside_a_string_change_it(self):
        whole = self.digest(SOURCE)
        for changed in (SOURCE.replace("42", "43"), SOURCE.replace("example.org", "example.com"),
                        SOURCE.replace("<string>", "<vector>"), SOURCE + "int more;\n"):
            self.assertNotEqual(self.digest(changed), whole, changed)

    def test_the_name_of_a_file_changes_it(self):
        self.assertNotEqual(self.digest(SOURCE, "b.cc"), self.digest(SOURCE))

    def test_a_raw_string_is_kept_as_it_is(self):
        raw = 'const char* kText = R"(\n// a line of text\n)";\n'
        self.assertNotEqual(self.digest(raw.replace("a line", "another line")), self.digest(raw))


if __name__ == "__main__":
    unittest.main()
