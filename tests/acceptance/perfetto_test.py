"""`lockstep export --to perfetto | chrome | manifest`: what is written is what a viewer needs, and what is true.

Perfetto files are decoded by protoc with the schema in tests/support/perfetto and read by perfetto_trace.py, which
fails for what no viewer could show: packets out of order, names that are not known, slices that do not nest, arrows
without an end. The truth about times is the simulator's.
"""
import csv
import gzip
import json
import os
import signal
import subprocess
import unittest
import zipfile

from perfetto_trace import Trace
from support import BIN, TempDirTest, analyze, run, simulate

# Two hosts whose clocks are 5 ms apart in the root mean square, drift, and wander.
TWO_HOSTS = ["--program", "train", "--tp", 4, "--dp", 2, "--hosts", 2, "--gpus-per-host", 4, "--steps", 6, "--layers", 8,
             "--cause", "slow_gpu:rank=3,factor=1.3", "--clock", "offset_ms=5,drift_ppm=20,wander_ppm=2", "--seed", 3]
FLEET = ["--program", "train", "--tp", 8, "--dp", 8, "--hosts", 8, "--gpus-per-host", 8, "--steps", 4, "--layers", 1,
         "--cause", "slow_gpu:rank=21,factor=1.4", "--seed", 5]


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


class Exported(TempDirTest):
    def export(self, traces, *flags, name="run.pftrace", to="perfetto", code=0):
        output = self.path(name)
        done = run("lockstep", "export", traces, "--to", to, "--output", output, *flags)
        self.assertEqual(done.returncode, code, done.stderr)
        self.said = done.stderr
        return output

    def trace(self, traces, *flags, **kwargs):
        return Trace(self.export(traces, *flags, **kwargs))


def truth_of(folder):
    """True (start, end) of each recorded collective, in order of start, by rank, operation, bytes and step."""
    rows = {}
    with gzip.open(os.path.join(folder, "instances.csv.gz"), "rt") as file:
        for row in csv.DictReader(file):
            if row["recorded"] == "1":
                key = int(row["rank"]), row["op"], int(row["bytes"]), int(row["step"])
                rows.setdefault(key, []).append((int(row["true_start_ns"]), int(row["true_end_ns"])))
    return {key: sorted(times) for key, times in rows.items()}


def times_of_kernels(folder, rank):
    """Start and end of each kernel and copy of a Kineto file, on its own clock, without our code."""
    with gzip.open(os.path.join(folder, f"rank{rank}.json.gz"), "rt") as file:
        document = json.load(file)
    return [(event["name"], event["cat"], round(event["ts"] * 1000), round(event["dur"] * 1000))
            for event in document["traceEvents"] if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]


class Times(Exported):
    def test_ends_of_a_collective_line_up_within_the_uncertainty_that_is_told(self):
        folder = simulate(self.path("run"), *TWO_HOSTS)
        trace = self.trace(folder)
        truth = truth_of(folder)
        members = {}
        for member in trace.of("collective"):
            key = trace.rank_of(member.track), member.name.split(" ")[0], member.args["bytes"], member.args["step"]
            members.setdefault(key, []).append(member)
        self.assertEqual(set(members), set(truth))
        true_of = {}
        for key, times in truth.items():
            self.assertEqual(len(members[key]), len(times))
            for member, true in zip(sorted(members[key], key=lambda s: s.start), times):
                true_of[member] = true
        compared = within = apart = 0
        for group in trace.instances().values():
            first = min(group, key=lambda s: s.start)
            told = first.args["spread_uncertainty_ns"]
            for other in group:
                for moment in (0, 1):
                    exported = (other.start, other.end)[moment] - (first.start, first.end)[moment]
                    true = true_of[other][moment] - true_of[first][moment]
                    compared += 1
                    within += abs(exported - true) <= told
                    apart = max(apart, abs(exported - true))
        self.assertGreater(compared, 3000)
        # 95 % intervals; of single records, which jitter by 0.3 us.
        self.assertGreaterEqual(within, 0.95 * compared)
        self.assertLess(apart, 60_000)
        # Without the correction they would be milliseconds apart.
        clocks = json.loads(bytes_of(os.path.join(folder, "truth.json")))["clocks"]
        offsets = [clock["knots"][0]["theta_ns"] for clock in clocks]
        self.assertGreater(abs(offsets[0] - offsets[1]), 3_000_000)

    def test_every_kernel_of_the_traces_is_there_moved_by_one_clock(self):
        folder = simulate(self.path("run"), *TWO_HOSTS)
        trace = self.trace(folder)
        for rank in (0, 3, 5):
            in_file = times_of_kernels(folder, rank)
            shown = [s for s in trace.slices if trace.rank_of(s.track) == rank and
                     s.category in ("kernel", "copy", "memset", "collective")]
            self.assertEqual(len(shown), len(in_file))
            self.assertEqual(sorted(s.name for s in shown if s.category == "kernel"),
                             sorted(name for name, kind, _, _ in in_file if kind == "kernel" and "nccl" not in name))
            in_file.sort(key=lambda e: (e[2], e[3]))
            shown.sort(key=lambda s: (s.start, s.end))
            moved = [s.start - e[2] for s, e in zip(shown, in_file)]
            self.assertLess(max(moved) - min(moved), 200_000)  # drift over the run, 20 ppm, and wander
            for one, event in zip(shown, in_file):
                self.assertLessEqual(abs((one.end - one.start) - event[3]), 20)

    def test_waits_and_arrows_are_those_of_the_report(self):
        folder = simulate(self.path("run"), *TWO_HOSTS)
        trace = self.trace(folder)
        report = analyze(folder, "--view", "skew", "--instances=all")
        told = {}
        for instance in report["skew"]["instances"]:
            for member in instance["members"]:
                told[member["rank"], member["start_ns"], member["end_ns"]] = (instance, member)
        for member in trace.of("collective"):
            instance, of_report = told.pop((trace.rank_of(member.track), member.start, member.end))
            self.assertEqual(member.args["wait_ns"], of_report["wait_ns"])
            self.assertEqual(member.args["wait_uncertainty_ns"], of_report["wait_uncertainty_ns"])
            self.assertEqual(member.args["lateness_ns"], of_report["lateness_ns"])
            self.assertEqual(member.args["last_rank"], instance["last_rank"])
            self.assertEqual(member.args["last_certain"], instance["last_certain"])
            self.assertEqual(member.args["spread_ns"], instance["spread_ns"])
        self.assertFalse([key for key, (_, member) in told.items() if member["wait_ns"]])
        self.assertGreater(len(trace.flows), 500)
        for source, target in trace.flows.values():
            self.assertEqual(target.parent.correlation, source.correlation)
            self.assertEqual(target.start, source.start)
            self.assertGreater(target.parent.args["wait_ns"], target.parent.args["wait_uncertainty_ns"])

    def test_steps_counters_processes_and_the_time_of_day(self):
        folder = simulate(self.path("run"), *TWO_HOSTS)
        trace = self.trace(folder)
        steps = analyze(folder, "--view", "steps")["steps"]
        shown = {(trace.rank_of(s.track), s.args["step"]): s for s in trace.of("step")}
        self.assertEqual(len(shown), 8 * 6)
        for row in steps:
            self.assertLessEqual(abs(shown[row["rank"], row["step"]].start - row["start_ns"]), 1000)
        names = [trace.tracks[u]["process"][0]["process_name"][0] for u in sorted(trace.tracks) if "process" in trace.tracks[u]]
        self.assertEqual(names[0], "run run")
        self.assertEqual(names[1:], [f"rank {r} · node{r // 4:03} · GPU {r % 4}" for r in range(8)])
        labels = {trace.rank_of(u): t["process"][0].get("process_labels") for u, t in trace.tracks.items() if "process" in t}
        self.assertIn("makes others wait", labels[3][0])
        self.assertRegex(trace.tracks[6]["description"][0], r"Its clock was [\d.]+ ms behind that of rank 0 .* \(95 %\)\.")
        waiting = [u for u, t in trace.tracks.items() if t.get("name") == ["ranks that wait"]]
        self.assertLessEqual(max(value for _, value in trace.counters[waiting[0]]), 8)
        self.assertEqual(trace.counters[waiting[0]][-1][1], 0)
        idle = [u for u, t in trace.tracks.items() if t.get("name") == ["idle"]]
        self.assertEqual(len(idle), 8)
        self.assertLess(abs(trace.clocks[1] - 1769904000000000000), 1_000_000_000)
        self.assertTrue(trace.of("gap"))


class Selections(Exported):
    def test_ranks_steps_time_and_kernels(self):
        folder = simulate(self.path("run"), *TWO_HOSTS)
        whole = self.trace(folder)
        some = self.trace(folder, "--ranks", "1,4-5", "--steps", "2..3")
        self.assertEqual({some.rank_of(s.track) for s in some.slices if some.rank_of(s.track) is not None}, {1, 4, 5})
        self.assertEqual({s.args["step"] for s in some.slices if "step" in s.args}, {2, 3})
        for category in ("kernel", "collective"):
            expected = [(whole.rank_of(s.track), s.start, s.end, s.name) for s in whole.of(category)
                        if whole.rank_of(s.track) in (1, 4, 5) and s.args.get("step") in (2, 3)]
            shown = [(some.rank_of(s.track), s.start, s.end, s.name) for s in some.of(category)]
            self.assertEqual(sorted(shown), sorted(expected), category)
        self.assertFalse(self.trace(folder, "--kernels", "none").of("kernel"))
        window = self.trace(folder, "--time", "20ms..30ms")
        kernels = window.of("kernel")
        self.assertEqual(len(kernels), sum(s.start < 30_000_000 and max(s.end, s.start + 1) > 20_000_000
                                           for s in whole.of("kernel")))
        self.assertTrue(kernels)

    def test_of_many_ranks_the_named_one_and_its_peers_have_kernels(self):
        folder = simulate(self.path("fleet"), *FLEET)
        trace = self.trace(folder)
        ranks = {trace.rank_of(s.track) for s in trace.of("kernel")}
        self.assertIn(21, ranks)
        self.assertLessEqual(len(ranks), 16)
        self.assertTrue(ranks <= set(range(16, 24)) | {5, 13, 29, 37, 45, 53, 61}, ranks)
        self.assertEqual({trace.rank_of(s.track) for s in trace.of("collective")}, set(range(64)))
        self.assertLess(os.path.getsize(self.path("run.pftrace")), 300_000_000)
        trace = self.trace(folder, "--kernels", "all")
        self.assertEqual({trace.rank_of(s.track) for s in trace.of("kernel")}, set(range(64)))

    def test_a_small_file_leaves_out_what_tells_least_and_says_so(self):
        folder = simulate(self.path("fleet"), *FLEET)
        whole = os.path.getsize(self.export(folder, "--kernels", "all"))
        for part in (0.7, 0.3, 0.1, 0.02):
            limit = int(whole * part)
            trace = self.trace(folder, "--kernels", "all", "--max-size", limit)
            self.assertLess(os.path.getsize(self.path("run.pftrace")), limit + 200_000, part)
            self.assertIn("left out:", self.said)
            self.assertTrue(any(key.startswith("left out") for key in trace.attributes))
            for members in trace.instances().values():
                self.assertIn(len(members), (2, 8, 64))  # whole, or not at all
            kernels = {trace.rank_of(s.track) for s in trace.of("kernel")}
            self.assertTrue(not kernels or 21 in kernels, kernels)

    def test_a_flag_that_means_nothing_is_refused(self):
        folder = simulate(self.path("run"), *TWO_HOSTS)
        for to, flags in (("bundle", ["--steps", 1]), ("manifest", ["--kernels", "all"]), ("perfetto", ["--base", "x"]),
                          ("perfetto", ["--max-residual", "1us"]), ("perfetto", ["--ranks", "99"]), ("chrome", ["--steps", "x"])):
            done = run("lockstep", "export", folder, "--to", to, "--output", self.path("out"), *flags)
            self.assertEqual(done.returncode, 1, (to, flags, done.stderr))
            self.assertFalse(os.path.exists(self.path("out")))


class Sources(Exported):
    def test_a_stored_run_has_all_but_single_kernels_and_says_so(self):
        folder = simulate(self.path("run"), *TWO_HOSTS)
        whole = self.trace(folder)
        self.assertEqual(run("lockstep", "analyze", folder, "--store", self.path("s.db"), "--run", "r").returncode, 0)
        stored = self.trace(f"r@{self.path('s.db')}", name="stored.pftrace")
        for category in ("collective", "step", "wait", "transfer"):
            self.assertEqual([(whole.rank_of(s.track), s.start, s.end, s.args) for s in whole.of(category)],
                             [(stored.rank_of(s.track), s.start, s.end, s.args) for s in stored.of(category)], category)
        longest = {(stored.rank_of(s.track), s.start, s.end, s.name) for s in stored.of("kernel")}
        self.assertTrue(longest)
        self.assertTrue(longest <= {(whole.rank_of(s.track), s.start, s.end, s.name) for s in whole.of("kernel")})
        self.assertIn("export the folder of the traces", stored.attributes["kernels"])
        done = run("lockstep", "export", "r", "--store", self.path("s.db"), "--to", "manifest", "--output", self.path("z.zip"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("original trace files", done.stderr)

    def test_nsys_exports_are_as_good(self):
        folder = simulate(self.path("nsys"), *TWO_HOSTS, "--format", "nsys")
        trace = self.trace(folder)
        self.assertEqual({trace.rank_of(s.track) for s in trace.of("kernel")}, set(range(8)))
        done = run("lockstep", "export", folder, "--to", "manifest", "--output", self.path("z.zip"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("SQLite", done.stderr)
        self.assertIn("--to perfetto", done.stderr)

    def test_the_same_traces_give_the_same_bytes(self):
        folder = simulate(self.path("run"), *TWO_HOSTS)
        first = bytes_of(self.export(folder, name="a.pftrace"))
        self.assertEqual(bytes_of(self.export(folder, name="b.pftrace")), first)

    def test_a_broken_trace_among_good_ones(self):
        folder = simulate(self.path("run"), *TWO_HOSTS)
        whole = gzip.decompress(bytes_of(os.path.join(folder, "rank6.json.gz")))
        with gzip.open(os.path.join(folder, "rank6.json.gz"), "wb") as file:
            file.write(whole[:len(whole) // 2])
        with open(os.path.join(folder, "rank7.json.gz"), "wb") as file:
            file.write(b"nothing of use")
        trace = self.trace(folder)
        self.assertIn("rank7", self.said)
        self.assertEqual({trace.rank_of(s.track) for s in trace.of("kernel")}, set(range(7)))

    def test_hostile_names_arrive_as_they_are(self):
        folder = self.path("names")
        os.mkdir(folder)
        names = ["<script>alert(1)</script>", "a\u202eb\u2066c", "k" * 10_000, "\"quoted\\\n\t", "\u0000\u0001", "gemm"]
        for rank in range(2):
            events = [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1000 + 10 * i, "dur": 5,
                       "args": {"device": 0, "stream": 7, "correlation": i + 1}} for i, name in enumerate(names)]
            with open(os.path.join(folder, f"rank{rank}.json"), "w", encoding="utf-8") as file:
                json.dump({"schemaVersion": 1, "baseTimeNanoseconds": 1_700_000_000_000_000_000,
                           "distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}, file)
        raw = bytes_of(os.path.join(folder, "rank1.json")).replace(b"gemm", b"\xff\xfe")
        with open(os.path.join(folder, "rank1.json"), "wb") as file:
            file.write(raw)
        trace = self.trace(folder)
        shown = {s.name for s in trace.of("kernel")}
        for name in names:
            self.assertTrue(any(s == name or (len(name) > 1000 and s.startswith(name[:1000])) for s in shown), name[:40])
        self.assertLess(max(map(len, shown)), 2000)
        self.export(folder, to="chrome", name="names.json")
        events = json.loads(bytes_of(self.path("names.json")))["traceEvents"]
        self.assertEqual({e["name"] for e in events if e["ph"] == "X" and e["cat"] == "kernel"}, shown)

    def test_an_aggregator_gives_collectives_and_steps_and_says_what_is_missing(self):
        from loopback_test import Aggregator
        folder = simulate(self.path("run"), *TWO_HOSTS)
        whole = self.trace(folder)
        aggregator = Aggregator(self.path("a.db"))
        self.addCleanup(aggregator.stop)
        done = run("lockstep-agent", "--aggregator", aggregator.address, "--run", "r", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        asked = self.trace("r", "--aggregator", aggregator.address, name="asked.pftrace")
        self.assertEqual(sorted((whole.rank_of(s.track), s.start, s.end) for s in whole.of("collective")),
                         sorted((asked.rank_of(s.track), s.start, s.end) for s in asked.of("collective")))
        steps = {(whole.rank_of(s.track), s.args["step"]): s for s in whole.of("step")}
        self.assertEqual(set(steps), {(asked.rank_of(s.track), s.args["step"]) for s in asked.of("step")})
        for step in asked.of("step"):  # whose lengths are on the ranks' own clocks
            other = steps[asked.rank_of(step.track), step.args["step"]]
            self.assertLess(max(abs(step.start - other.start), abs(step.end - other.end)), 10_000)
        self.assertGreater(len(asked.flows), 500)
        self.assertIn("left out: kernels", self.said)
        done = run("lockstep", "export", "r", "--aggregator", aggregator.address, "--to", "manifest", "--output", self.path("out"))
        self.assertEqual(done.returncode, 2)
        self.assertFalse(os.path.exists(self.path("out")))


class Files(Exported):
    def test_gzip_by_the_name(self):
        folder = simulate(self.path("run"), *TWO_HOSTS)
        plain = bytes_of(self.export(folder))
        packed = self.export(folder, name="run.pftrace.gz")
        self.assertEqual(gzip.decompress(bytes_of(packed)), plain)
        self.assertLess(os.path.getsize(packed) * 2, len(plain))

    def test_an_interrupted_export_leaves_nothing(self):
        folder = simulate(self.path("fleet"), *FLEET)
        output = self.path("out", "run.pftrace")
        os.mkdir(self.path("out"))
        with subprocess.Popen([os.path.join(BIN, "lockstep"), "export", folder, "--to", "perfetto", "--kernels", "all", "--output",
                               output], stderr=subprocess.PIPE) as process:
            while not os.listdir(self.path("out")) and process.poll() is None:
                pass
            process.send_signal(signal.SIGINT)
            process.communicate()
        if process.returncode != 0:
            self.assertEqual(process.returncode, 130)
            self.assertEqual(os.listdir(self.path("out")), [])
        else:
            self.assertEqual(os.listdir(self.path("out")), ["run.pftrace"])

    def test_a_folder_that_is_not_there(self):
        folder = simulate(self.path("run"), *TWO_HOSTS)
        done = run("lockstep", "export", folder, "--to", "perfetto", "--output", self.path("no", "such"))
        self.assertEqual(done.returncode, 2)
        self.assertIn(self.path("no", "such"), done.stderr)

    def test_chrome_json_loads_and_nests(self):
        folder = simulate(self.path("run"), *TWO_HOSTS)
        trace = self.trace(folder)
        document = json.loads(bytes_of(self.export(folder, to="chrome", name="run.json")))
        slices = [e for e in document["traceEvents"] if e["ph"] == "X"]
        self.assertEqual(sorted((round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000), e["name"]) for e in slices),
                         sorted((s.start, s.end, s.name) for s in trace.slices))
        open_ends = {}
        for event in slices:
            start, length = round(event["ts"] * 1000), round(event["dur"] * 1000)
            stack = open_ends.setdefault(event["tid"], [])
            while stack and stack[-1] <= start:
                stack.pop()
            self.assertTrue(not stack or start + length <= stack[-1])
            stack.append(start + length)


class Manifests(Exported):
    def test_an_archive_of_the_original_files_with_their_offsets(self):
        folder = simulate(self.path("run"), *TWO_HOSTS)
        archive = zipfile.ZipFile(self.export(folder, to="manifest", name="run.zip", *["--max-residual", "1ms"]))
        self.assertIsNone(archive.testzip())
        names = archive.namelist()
        self.assertEqual(names[0], "perfetto_manifest.json")
        manifest = json.loads(archive.read(names[0]))["perfetto_manifest"]
        self.assertEqual({f["path"] for f in manifest["files"]}, set(names[1:]))
        truth = {clock["domain"]: clock for clock in json.loads(bytes_of(os.path.join(folder, "truth.json")))["clocks"]}
        self.assertEqual(len(names), 9)
        offsets = {}
        for name in names[1:]:
            self.assertEqual(archive.read(name), bytes_of(os.path.join(folder, name)))
            self.assertLessEqual(len(name), 99)
        for entry in manifest["files"]:
            host = entry["machine"]["name"]
            offsets.setdefault(host, entry.get("clocks", {}).get("offset_ns", 0))
            self.assertLess(abs(offsets[host] - entry.get("clocks", {}).get("offset_ns", 0)), 10_000)  # devices differ
        base = {host: json.loads(gzip.decompress(bytes_of(os.path.join(folder, f"rank{4 * i}.json.gz")))).get("baseTimeNanoseconds", 0)
                for i, host in enumerate(sorted(offsets))}
        a, b = sorted(offsets)
        middle = {host: sum(k["theta_ns"] for k in truth[host]["knots"]) / len(truth[host]["knots"]) for host in offsets}
        # The same instant: T + base - theta on both; so the offsets differ by base - theta.
        expected = (base[b] - middle[b]) - (base[a] - middle[a])
        self.assertLess(abs((offsets[b] - offsets[a]) - expected), 30_000)

    def test_clocks_that_drift_too_much_are_refused_with_the_way_out(self):
        folder = simulate(self.path("run"), *TWO_HOSTS)
        self.export(folder, "--max-residual", "10ns", to="manifest", name="run.zip", code=2)
        self.assertIn("drifts", self.said)
        self.assertIn("--to perfetto", self.said)
        self.assertFalse(os.path.exists(self.path("run.zip")))


if __name__ == "__main__":
    unittest.main()
