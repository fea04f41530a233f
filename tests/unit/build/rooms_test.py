"""What `tests/run --quick ROOM` builds and runs (tests/rooms.py)."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
ROOMS = """match_tests tests/unit/analysis/metrics/match
causes_tests tests/unit/analysis/metrics/replay tests/unit/analysis/metrics/causes
store_tests tests/unit/aggregator/store
report_tests tests/unit/analysis/report tests/unit/analysis/report/text
integration_tests tests/integration
"""


class Rooms(unittest.TestCase):
    def ask(self, *rooms):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(ROOMS)
            file.flush()
            return subprocess.run([sys.executable, os.path.join(ROOT, "tests", "rooms.py"), file.name, *rooms], capture_output=True,
                                  text=True)

    def test_a_room_is_a_folder_a_path_a_file_or_a_program(self):
        for room, program in (("match", "match_tests"), ("analysis/metrics/match", "match_tests"),
                              ("analysis/metrics/match/join/timed_join.cc", "match_tests"), ("replay", "causes_tests"),
                              ("aggregator/store/sqlite", "store_tests"), ("./aggregator/store/", "store_tests"),
                              ("tests/unit/analysis/metrics/causes/blame_test.cc", "causes_tests"), ("text", "report_tests"),
                              ("match_tests", "match_tests"), ("integration", "integration_tests")):
            self.assertEqual(self.ask(room).stdout.split(), [program], room)

    def test_a_folder_of_rooms_has_the_tests_of_all(self):
        self.assertEqual(self.ask("analysis/metrics").stdout.split(), ["match_tests", "causes_tests"])
        self.assertEqual(self.ask("analysis").stdout.split(), ["match_tests", "causes_tests", "report_tests"])

    def test_several_rooms_come_once_each_and_none_means_all(self):
        self.assertEqual(self.ask("replay", "causes", "match").stdout.split(), ["causes_tests", "match_tests"])
        self.assertEqual(len(self.ask().stdout.split()), 5)

    def test_an_unknown_room_is_refused_with_those_that_there_are(self):
        answer = self.ask("matsch")
        self.assertEqual(answer.returncode, 1)
        self.assertIn("no room 'matsch'", answer.stderr)
        self.assertIn("causes, integration, match", answer.stderr)


if __name__ == "__main__":
    unittest.main()
