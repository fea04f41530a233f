"""Bad input: a clear message that names the file and the place, the rest of the run still analysed, the right exit code."""
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import unittest

from support import BIN, TempDirTest, analyze, nsys_export, run, simulate

PROGRAM = ["--program", "decode", "--tp", 4, "--hosts", 1, "--gpus-per-host", 4, "--layers", 2, "--steps", 4]
ALL = ["--view", "all", "--format", "json"]


def kernel(ts, dur, name='"gemm"', correlation=1):
    return (f'{{"ph": "X", "cat": "kernel", "name": {name}, "pid": 0, "tid": 7, "ts": {ts}, "dur": {dur}, '
            f'"args": {{"device": 0, "stream": 7, "correlation": {correlation}}}}}')


class BadInput(TempDirTest):
    def setUp(self):
        super().setUp()
        self.good = simulate(self.path("good"), *PROGRAM)

    def write(self, name, content):
        path = os.path.join(self.good, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def trace(self, name, *events, head=""):
        return self.write(name, '{' + head + '"traceEvents": [\n' + ",\n".join(events) + "\n]}")

    def check_left_out(self, path, status, *words, ranks=4):
        """The four good ranks are analysed; the bad file is told on stderr and in the quality view."""
        done = run("lockstep", "analyze", self.good, *ALL)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["run"]["ranks"], ranks)
        (entry,) = [f for f in report["quality"]["files"] if f["path"].endswith(os.path.basename(path))]
        self.assertEqual(entry["status"], status)
        self.assertIn(path, done.stderr)
        for word in words:
            self.assertIn(word, entry["reason"])
        return report, entry

    def counters(self, path):
        report = analyze(path, "--view", "quality,ranks")
        (entry,) = report["quality"]["files"]
        return report, entry["counters"]

    def test_an_empty_file(self):
        self.check_left_out(self.write("empty.json", ""), "skipped", "empty")

    def test_a_text_file_named_as_a_trace(self):
        self.check_left_out(self.write("notes.json", "these are notes\n"), "skipped")

    def test_a_database_that_is_no_export(self):
        path = os.path.join(self.good, "other.sqlite")
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE people (name TEXT)")
        db.commit()
        db.close()
        self.check_left_out(path, "refused", "nsys")

    def test_an_export_without_cuda_tables_says_so(self):
        path = self.path("empty.sqlite")
        db = nsys_export(path)
        db.commit()
        db.close()
        report = analyze(path, "--view", "quality,ranks")
        gates = {gate["name"]: gate for gate in report["quality"]["gates"]}
        self.assertIs(gates["kernels_present"]["ok"], False)
        self.assertEqual(report["ranks"][0]["kernels"], 0)

    def test_json_cut_inside_a_string_keeps_what_stands_before(self):
        with gzip.open(os.path.join(self.good, "rank1.json.gz")) as file:
            text = file.read()
        os.remove(os.path.join(self.good, "rank1.json.gz"))
        cut = text.rindex(b'"cat": "kernel"' if b'"cat": "kernel"' in text else b'"cat":"kernel"') + 10
        report, entry = self.check_left_out(self.write("rank1.json", text[:cut]), "partial")
        self.assertGreater(entry["offset"], 0)
        self.assertIn("truncated_tail", entry["counters"])
        kernels = {row["rank"]: row["kernels"] for row in report["ranks"]}
        self.assertGreater(kernels[1], 0.9 * kernels[0] - 5)

    def test_gzip_cut_inside_a_member_keeps_what_stands_before(self):
        path = os.path.join(self.good, "rank2.json.gz")
        with open(path, "rb") as file:
            data = file.read()
        report, entry = self.check_left_out(self.write("rank2.json.gz", data[: len(data) * 9 // 10]), "partial")
        self.assertIn("gzip_truncated", entry["counters"])
        self.assertGreater({row["rank"]: row["kernels"] for row in report["ranks"]}[2], 0)

    def test_not_a_number_and_infinity(self):
        path = self.trace("nan.json", kernel("NaN", 1), kernel("10", "Infinity"), kernel("20.5", "3.25"))
        report, counters = self.counters(path)
        self.assertEqual(report["ranks"][0]["kernels"], 1)
        self.assertEqual(counters["bad_number"], 2)

    def test_bad_escapes_and_unescaped_quotes(self):
        path = self.trace("escapes.json", kernel(10, 1, r'"C:\Users\x.cu"'), kernel(20, 1, '"a "quoted" name"'), kernel(30, 1))
        report, counters = self.counters(path)
        self.assertGreaterEqual(report["ranks"][0]["kernels"], 2)
        self.assertGreaterEqual(sum(counters.values()), 1)

    def test_invalid_utf8_in_a_name(self):
        path = self.write("utf8.json", b'{"traceEvents": [' + kernel(10, 1, '"gemm_@"').encode().replace(b"@", b"\xff\xfe") + b"]}")
        report = analyze(path, "--view", "kernels,quality")
        self.assertIn("\ufffd", report["kernels"][0]["name"])
        self.assertEqual(report["quality"]["files"][0]["counters"]["bad_utf8"], 1)

    def test_negative_and_absurd_times(self):
        path = self.trace("absurd.json", kernel(10, -5), kernel("1e300", 1), kernel(30, "9e17"), kernel(40, 2))
        report, counters = self.counters(path)
        self.assertEqual(report["ranks"][0]["kernels"], 1)
        self.assertEqual(sum(counters[reason] for reason in counters), 3 + counters.get("missing_launch", 0))

    def test_two_files_with_one_rank_are_both_refused_by_name(self):
        shutil.copy(os.path.join(self.good, "rank1.json.gz"), os.path.join(self.good, "copy_of_rank1.json.gz"))
        with gzip.open(os.path.join(self.good, "rank1.json.gz"), "rt") as file:
            text = file.read()
        with gzip.open(os.path.join(self.good, "copy_of_rank1.json.gz"), "wt") as file:
            file.write(re.sub(r'"dur": ?(\d)', r'"dur":1\1', text))
        done = run("lockstep", "analyze", self.good, *ALL)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual([row["rank"] for row in report["ranks"]], [0, 2, 3])
        gate = {gate["name"]: gate for gate in report["quality"]["gates"]}["duplicate_rank"]
        self.assertIs(gate["ok"], False)
        self.assertIn("copy_of_rank1.json.gz", gate["detail"])
        self.assertIn("/rank1.json.gz", gate["detail"])
        strict = run("lockstep", "analyze", self.good, "--strict")
        self.assertEqual(strict.returncode, 3)

    def test_a_trace_given_twice_is_used_once(self):
        with gzip.open(os.path.join(self.good, "rank1.json.gz"), "rt") as file:
            text = file.read()
        with open(os.path.join(self.good, "copy_of_rank1.json"), "w") as file:
            file.write(text + "\n ")
        report = analyze(self.good, "--view", "ranks,quality")
        self.assertEqual([row["rank"] for row in report["ranks"]], [0, 1, 2, 3])
        self.assertEqual(report["run"]["left_out"]["count"], 1)

    def test_nothing_left_after_refusing_duplicates_is_exit_2(self):
        folder = self.path("two")
        os.mkdir(folder)
        for name, tail in (("a.json", ""), ("b.json", " ")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write('{"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [' + kernel(10, 5) + "]}" + tail)
        done = run("lockstep", "analyze", folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("a.json", done.stderr)
        self.assertIn("b.json", done.stderr)

    def captures(self):
        folder = self.path("captures")
        os.mkdir(folder)
        head = '"distributedInfo": {"rank": 0, "world_size": 1}, '
        for name, start in (("first.json", 1000), ("second.json", 90_000_000)):
            events = ",".join(kernel(start + 10 * i, 5) for i in range(20 if name == "first.json" else 30))
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write("{" + head + '"traceEvents": [' + events + "]}")
        return folder

    def test_several_captures_of_a_rank_need_a_choice(self):
        folder = self.captures()
        done = run("lockstep", "analyze", folder)
        self.assertIn("--capture", done.stderr + done.stdout)
        for choice, kernels in (("0", 20), ("1", 30), ("last", 30)):
            report = analyze(folder, "--capture", choice, "--view", "ranks")
            self.assertEqual([row["kernels"] for row in report["ranks"]], [kernels])

    def test_two_jobs_in_one_folder_are_told_apart(self):
        simulate(self.path("both", "other"), *PROGRAM[:2], "--tp", 2, "--hosts", 1, "--gpus-per-host", 2, "--steps", 3,
                 "--layers", 2, "--seed", 9) if os.makedirs(self.path("both")) is None else None
        shutil.move(self.good, self.path("both", "good"))
        done = run("lockstep", "analyze", self.path("both"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("2 different runs", done.stderr)
        self.assertEqual(done.stderr.count("lockstep analyze "), 2)

    def test_a_rank_that_no_other_matches(self):
        self.trace("rank9.json", *(kernel(1_769_904_000_000_000 + 100 * i, 5) for i in range(50)))
        done = run("lockstep", "analyze", self.good, *ALL)
        self.assertIn(done.returncode, (0, 2), done.stderr)
        if done.returncode == 0:
            self.assertIn(9, [row["rank"] for row in json.loads(done.stdout)["ranks"]])

    def test_a_folder_with_nothing_in_it(self):
        os.mkdir(self.path("nothing"))
        done = run("lockstep", "analyze", self.path("nothing"))
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"lockstep: {self.path('nothing')} holds no trace: there is no file in it; lockstep reads", done.stderr)

    def test_a_path_that_is_not_there(self):
        done = run("lockstep", "analyze", self.path("missing"))
        self.assertEqual(done.returncode, 2)
        self.assertIn(self.path("missing"), done.stderr)

    def test_no_permission(self):
        os.chmod(self.dir, 0o755)
        os.chmod(self.good, 0o755)
        for name in os.listdir(self.good):
            os.chmod(os.path.join(self.good, name), 0o644)
        path = os.path.join(self.good, "rank3.json.gz")
        os.chmod(path, 0)
        done = run("lockstep", "analyze", self.good, *ALL,
                   preexec_fn=(lambda: os.setuid(65534)) if os.geteuid() == 0 else None)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(path, done.stderr)
        self.assertIn("ermission", done.stderr)
        self.assertEqual([row["rank"] for row in json.loads(done.stdout)["ranks"]], [0, 1, 2])

    def run_on_small_disk(self, folder, size, *args):
        """Runs lockstep with a small file system mounted at `folder`, in a name space of its own."""
        os.mkdir(folder)
        mount = f'mount -t tmpfs -o size={size} tmpfs "$0" && exec "$@"'
        own = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
        program = [os.path.join(BIN, "lockstep"), *map(str, args)]
        return subprocess.run([*own, "sh", "-c", mount, folder, *program], capture_output=True, text=True, timeout=300)

    def test_no_room_to_sort(self):
        big = simulate(self.path("big"), "--program", "decode", "--tp", 1, "--hosts", 1, "--gpus-per-host", 1, "--layers", 32,
                       "--steps", 250)
        small = self.path("small")
        done = self.run_on_small_disk(small, "1m", "analyze", big, "--tmp", small, "--jobs", 16)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no room to sort", done.stderr)
        self.assertIn("--tmp", done.stderr)

    def test_a_full_disk_while_writing_the_store(self):
        small = self.path("small")
        store = os.path.join(small, "runs.db")
        done = self.run_on_small_disk(small, "100k", "analyze", self.good, "--store", store)
        self.assertEqual(done.returncode, 2)
        self.assertIn("runs.db", done.stderr)
        self.assertIn("room", done.stderr)

    def test_a_damaged_store_is_refused_with_the_way_out(self):
        store = self.path("runs.db")
        with open(store, "wb") as file:
            file.write(b"SQLite format 3\0" + b"\x07" * 5000)
        done = run("lockstep", "analyze", self.good, "--store", store)
        self.assertEqual(done.returncode, 2)
        self.assertIn("runs.db", done.stderr)

    def test_wrong_usage_is_exit_1(self):
        for args in (["--view", "nonsense"], ["--steps", "5..1"], ["--time", "x..y"], ["--kernels", "(", "--view", "kernels"],
                     ["--format", "csv", "--view", "ranks,skew"], ["--no-such-flag"]):
            self.assertEqual(run("lockstep", "analyze", self.good, *args).returncode, 1, args)

    def test_a_closed_pipe_is_quiet(self):
        from support import BIN, ROOT
        command = f"'{BIN}/lockstep' analyze '{self.good}' --view all --format json | head -c 10 > /dev/null; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT)
        self.assertEqual(done.stdout.strip(), "0", done.stderr)
        self.assertNotIn("roken pipe", done.stderr)


if __name__ == "__main__":
    unittest.main()
