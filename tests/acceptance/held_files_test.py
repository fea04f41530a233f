"""`analyze --store` again: what the store holds is not read again, and the answer is that of reading it."""
import gzip
import json
import os
import re
import shutil
import sqlite3
import time
import unittest

from support import TempDirTest, run, simulate

RESTLESS_S = 2.2  # files changed less than two seconds ago are read again


class HeldFiles(TempDirTest):
    def setUp(self):
        super().setUp()
        self.traces, self.store = self.path("traces"), self.path("runs.db")
        simulate(self.traces, "--tp", "4", "--steps", "4", "--layers", "2", "--cause", "late_host:rank=1,us=300,p=0.2")
        for name in os.listdir(self.traces):
            if not name.startswith("rank"):
                os.remove(os.path.join(self.traces, name))
        time.sleep(RESTLESS_S)

    def trace(self, rank):
        return os.path.join(self.traces, f"rank{rank}.json.gz")

    def analyze(self, *flags, store=None, code=0):
        """The report, and how many files were held."""
        done = run("lockstep", "analyze", self.traces, "--run", "r", "--store", store or self.store, "--view", "all", "--format", "json", *flags)
        self.assertEqual(done.returncode, code, done.stderr)
        told = re.search(r"(\d+) of \d+ files are unchanged", done.stderr)
        return (json.loads(done.stdout) if code == 0 else done.stderr), int(told[1]) if told else 0

    def anew(self, *flags):
        """The same from nothing."""
        fresh = self.path("fresh.db")
        for end in ("", "-wal", "-shm"):
            if os.path.exists(fresh + end):
                os.remove(fresh + end)
        report, held = self.analyze(*flags, store=fresh)
        self.assertEqual(held, 0)
        return report

    def test_unchanged_files_are_not_read_again_and_the_answer_is_the_same(self):
        first, held = self.analyze()
        self.assertEqual(held, 0)
        self.assertEqual(self.analyze(), (first, 4))

    def test_a_file_that_is_added_is_the_only_one_that_is_read(self):
        away = self.path("rank3.json.gz")
        shutil.move(self.trace(3), away)
        self.analyze()
        shutil.move(away, self.trace(3))
        time.sleep(RESTLESS_S)
        self.assertEqual(self.analyze(), (self.anew(), 3))
        self.assertEqual(self.analyze()[1], 4)

    def test_a_file_that_changed_is_read_again(self):
        self.analyze()
        with open(self.trace(2), "rb") as file:
            content = file.read()
        with open(self.trace(2), "wb") as file:
            file.write(content[:len(content) // 2])
        time.sleep(RESTLESS_S)
        for _ in range(2):  # one that is damaged is never taken as held
            report, held = self.analyze()
            self.assertEqual(held, 3)
            notes = {os.path.basename(note["path"]): note["status"] for note in report["quality"]["files"]}
            self.assertEqual(notes["rank2.json.gz"], "partial")

    def test_a_file_just_written_is_read_again(self):
        os.utime(self.trace(0))
        self.analyze()
        self.assertEqual(self.analyze()[1], 3)

    def test_replace_reads_everything(self):
        first, _ = self.analyze()
        self.assertEqual(self.analyze("--replace"), (first, 0))
        self.assertEqual(self.analyze(), (first, 4))

    def test_other_options_read_everything(self):
        self.analyze()
        self.assertEqual(self.analyze("--host", "elsewhere")[1], 0)
        ranks = self.path("ranks.csv")
        with open(ranks, "w", encoding="utf-8") as file:
            file.write("path,pid,device,rank,host\nrank0.json.gz,,,0,\n")
        self.assertEqual(self.analyze("--rank-map", ranks)[1], 0)
        self.assertEqual(self.analyze("--rank-map", ranks)[1], 4)

    def rank_map(self, name, ranks):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("path,pid,device,rank,host\n" + "".join(f"rank{i}.json.gz,,,{rank},\n" for i, rank in enumerate(ranks)))
        return path

    def ranks(self, *flags):
        report, held = self.analyze(*flags)
        return [(rank["rank"], os.path.basename(rank["path"])) for rank in report["ranks"]], held

    def test_a_file_that_others_announced_otherwise_since_is_read_again(self):
        mapped = ("--rank-map", self.rank_map("swapped.csv", (1, 0, 2, 3)))
        first, _ = self.ranks(*mapped)
        traces, self.traces = self.traces, os.path.relpath(self.traces)
        self.ranks()  # by another spelling of the paths, by its own ranks
        self.traces = traces
        plain = self.ranks()[0]
        self.assertNotEqual(first, plain)
        self.assertEqual(self.ranks(*mapped)[0], first)
        self.assertEqual(self.ranks(*mapped), (first, 4))

    def test_a_change_in_the_middle_is_told_and_never_called_unchanged(self):
        for rank in range(4):
            with gzip.open(self.trace(rank), "rb") as file:
                content = file.read()
            with open(self.trace(rank)[:-3], "wb") as file:
                file.write(content + b" " * 200_000 if rank == 0 else content)
            os.remove(self.trace(rank))
        time.sleep(RESTLESS_S)
        first, _ = self.analyze()
        self.assertEqual(self.analyze(), (first, 4))
        path = self.trace(0)[:-3]
        with open(path, "r+b") as file:
            content = file.read()
            place = content.index(b'"dur":', 70_000) + len(b'"dur":')
            while not content[place:place + 1].isdigit():
                place += 1
            self.assertLess(place, len(content) - 70_000)
            file.seek(place)
            file.write(b"1" if content[place:place + 1] != b"1" else b"2")
        time.sleep(RESTLESS_S)
        for _ in range(2):
            done = run("lockstep", "analyze", self.traces, "--run", "r", "--store", self.store)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("3 of 4 files are unchanged", done.stderr)
            self.assertIn("the content differs from what is stored for this run", done.stderr)
        report, held = self.analyze("--replace")
        self.assertEqual((report, held), (self.anew(), 0))

    def test_what_is_asked_does_not_matter_for_what_is_held(self):
        self.analyze()
        report, held = self.analyze("--steps", "1..2", "--ranks", "0,1", "--expect-ranks", "9")
        self.assertEqual(held, 4)
        self.assertEqual(report, self.anew("--steps", "1..2", "--ranks", "0,1", "--expect-ranks", "9"))

    def test_a_run_of_another_name_and_one_that_was_dropped_are_read(self):
        self.analyze()
        done = run("lockstep", "analyze", self.traces, "--run", "other", "--store", self.store)
        self.assertNotIn("unchanged", done.stderr)
        with sqlite3.connect(self.store) as db:
            db.execute("PRAGMA foreign_keys=ON")
            db.execute("DELETE FROM run WHERE name = 'r'")
        db.close()
        self.assertEqual(self.analyze()[1], 0)

    def test_what_the_store_lacks_is_read_again(self):
        first, _ = self.analyze()
        with sqlite3.connect(self.store) as db:
            db.execute("PRAGMA foreign_keys=ON")
            db.execute("DELETE FROM source WHERE id = (SELECT min(id) FROM source)")
            db.execute("DELETE FROM answer")
        db.close()
        report, held = self.analyze()
        self.assertEqual((report["ranks"], held), (first["ranks"], 3))

    def test_what_was_kept_of_a_file_may_be_damaged(self):
        first, _ = self.analyze()
        with sqlite3.connect(self.store) as db:
            db.execute("UPDATE held_file SET gave = x'ff00ff' WHERE path LIKE '%rank0%'")
            db.execute("UPDATE held_file SET key = 'text' WHERE path LIKE '%rank1%'")
        db.close()
        self.assertEqual(self.analyze(), (first, 2))


if __name__ == "__main__":
    unittest.main()
