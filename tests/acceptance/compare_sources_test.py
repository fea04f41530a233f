"""`lockstep compare` gives one document whatever holds the runs; gates do not flicker over two hundred pairs of identical code; and the
kernels of real traces have the totals of HolisticTraceAnalysis.

HTA's TraceDiff sums the count and the duration of the rows of each name in the chosen steps (hta/trace_diff.py); a device row belongs to
the step in which its launch call began. That definition is applied here to the traces themselves, as ../shared/reference has no output of
TraceDiff. One thing differs: HTA leaves out rows whose launch call is not in the trace, and lockstep counts them in the step in progress.
"""
import collections
import csv
import glob
import gzip
import itertools
import json
import os
import shutil
import tempfile
import unittest

from compare_test import CHANGED, JOB, RAILS, SMALL, Comparing, compare, metric
from loopback_test import Aggregator
from support import DATA, REFERENCE, needs_traces, run, simulate

KINETO = os.path.join(DATA, "kineto")
CONTROL = os.path.join(KINETO, "single_rank_hta", "trace_diff_control_control.json.gz")
TEST = os.path.join(KINETO, "single_rank_hta", "trace_diff_test_test.json.gz")


class OneDocument(Comparing):
    """Of the same runs in folders, in a store, and in an aggregator that agents sent them to."""

    def stored(self, traces):
        name = os.path.basename(traces)
        done = run("lockstep", "analyze", traces, "--store", self.path("runs.db"), "--run", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return name

    def sent(self, aggregator, traces):
        name = os.path.basename(traces)
        done = run("lockstep-agent", "--aggregator", aggregator.address, "--run", name, "--host", "none", traces)
        self.assertEqual(done.returncode, 0, done.stderr)
        return name

    def check_sources(self, base, new, *flags):
        want = compare(base, new, *flags)
        names = self.stored(base), self.stored(new)
        store = self.path("runs.db")
        aggregator = Aggregator(self.path("aggregator.db"))
        self.addCleanup(aggregator.stop)
        self.assertEqual((self.sent(aggregator, base), self.sent(aggregator, new)), names)
        sources = {
            "--store": (*names, "--store", store),
            "NAME@STORE": tuple(f"{name}@{store}" for name in names),
            "a folder and a store": (base, f"{names[1]}@{store}"),
            "a store and a folder": (f"{names[0]}@{store}", new),
            "an aggregator": (*names, "--aggregator", aggregator.address),
            "an aggregator and a store": (names[0], f"{names[1]}@{store}", "--aggregator", aggregator.address),
        }
        for source, arguments in sources.items():
            for attempt in ("computed", "kept"):
                with self.subTest(source, attempt=attempt):
                    self.assertEqual(compare(*arguments, *flags), want)
        return want

    def test_of_simulated_runs_with_a_cause(self):
        base, new = self.run_of("base", JOB, 1), self.run_of("new", JOB, 2, "--cause", "late_host:rank=5,us=60,p=0.3")
        document = self.check_sources(base, new, "--gate", "step_time<=2000%", "--context", "new:commit=abc")
        self.assertIn("waiting for rank 5", document["headline"]["details"][0])

    def test_of_nsys_exports_of_several_hosts(self):
        base = self.run_of("base", RAILS, 1, "--format", "nsys")
        new = self.run_of("new", RAILS, 2, "--format", "nsys", "--cause", "slow_rail:rail=1,factor=4")
        self.check_sources(base, new)

    @needs_traces
    def test_of_real_traces(self):
        dlrm, sampled = os.path.join(KINETO, "param_dlrm_8rank_v100", "kineto"), os.path.join(KINETO, "hta_sampled_2of128")
        document = self.check_sources(dlrm, sampled)
        self.assertEqual(document["comparable"]["verdict"], "partly")
        self.assertEqual(document["headline"]["verdict"], "not_enough_steps")

    def test_of_both_formats_of_one_run_has_the_same_kernels(self):
        """The same simulated run, written as Kineto traces and as nsys exports: what a program writes is no change."""
        kineto, nsys = self.run_of("kineto", JOB, 1), self.run_of("nsys", JOB, 1, "--format", "nsys")
        document = compare(kineto, nsys)
        self.assertNotIn(document["headline"]["verdict"], CHANGED)
        self.assertEqual({row["match"] for row in document["kernels"]}, {"same"})
        for row in document["kernels"]:
            self.assertLessEqual(abs(row["change_ratio"]), 0.001, row["base"]["names"])


class TwoHundredPairs(unittest.TestCase):
    def test_of_identical_code_fail_no_gate_and_few_are_called_changed(self):
        folder = tempfile.mkdtemp(prefix="lockstep-acceptance-")
        self.addCleanup(shutil.rmtree, folder)
        store = os.path.join(folder, "runs.db")
        names = [f"r{seed}" for seed in range(301, 322)]
        for name in names:
            traces = simulate(os.path.join(folder, name), *SMALL, "--seed", name[1:])
            done = run("lockstep", "analyze", traces, "--store", store, "--run", name)
            self.assertEqual(done.returncode, 0, done.stderr)
        gates = ("--gate", "step_time<=2%", "--gate", "compute<=2%", "--gate", "exposed_wait<=20%", "--gate", "kernel:nvjet<=2%")
        verdicts = collections.Counter()
        for base, new in itertools.combinations(names, 2):
            document = compare(base, new, "--store", store, *gates)  # exit 0
            verdicts[document["headline"]["verdict"]] += 1
            for gate in document["gates"]:
                self.assertNotEqual(gate["verdict"], "fails", (base, new))
        self.assertEqual(sum(verdicts.values()), 210)
        self.assertLessEqual(verdicts["slower"] + verdicts["faster"], 0.07 * 210, verdicts)


class Trace:
    """A Kineto trace of one rank, read without our code."""

    def __init__(self, path):
        with gzip.open(path, "rt") as file:
            events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
        calls = {e["args"]["correlation"]: e["ts"] for e in events if "correlation" in e.get("args", {}) and "stream" not in e["args"]}
        self.steps = sorted((e["ts"], e["ts"] + e["dur"], int(e["name"].split("#")[1])) for e in events
                            if e["name"].startswith("ProfilerStep#") and "stream" not in e.get("args", {}))
        # (step, name) -> [count, ns]; step None: without a launch call in the trace; -1: launched in no step.
        self.by_step = collections.defaultdict(lambda: [0, 0])
        for event in events:
            if event.get("cat", "").lower() == "kernel":
                row = self.by_step[self.step_at(calls.get(event["args"].get("correlation"))), event["name"]]
                row[0] += 1
                row[1] += round(event["dur"] * 1000)

    def step_at(self, ts):
        if ts is None:
            return None
        return next((number for begin, end, number in self.steps if begin <= ts < end), -1)

    def names(self):
        return {name for _, name in self.by_step}

    def of(self, name, steps):
        """What TraceDiff sums for this name: (count, ns)."""
        rows = [row for (step, of), row in self.by_step.items() if of == name and step in steps]
        return sum(row[0] for row in rows), sum(row[1] for row in rows)


@needs_traces
class HolisticTraceAnalysis(unittest.TestCase):
    """HTA's published pair of control and test, one rank each, of which lockstep compares all whole steps."""

    @classmethod
    def setUpClass(cls):
        cls.document = compare(CONTROL, TEST)
        cls.traces = {"base": Trace(CONTROL), "new": Trace(TEST)}
        cls.profiles = {}
        for side, path in (("base", CONTROL), ("new", TEST)):
            done = run("lockstep", "analyze", path, "--view", "profile", "--format", "json")
            cls.profiles[side] = json.loads(done.stdout)["profile"]

    def steps(self, side):
        numbers = [row["step"] for row in self.profiles[side]["steps"]]
        self.assertEqual(len(numbers), self.document[side][0]["steps"])  # none of them is warm-up
        return numbers

    def test_the_reader_of_this_test_gives_the_published_totals_of_hta(self):
        published = os.path.join(REFERENCE, "hta", "trace_diff_control", "gpu_kernel_breakdown_all.csv")
        with open(published, encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["kernel_type"] != "MEMORY"]
        self.assertGreater(len(rows), 100)
        for row in rows:
            self.assertAlmostEqual(self.traces["base"].of(row["name"], self.steps("base"))[1] / 1000, float(row["sum (us)"]), places=3)

    def test_totals_by_name_are_those_of_trace_diff_where_the_name_is_the_same(self):
        compared = exact = 0
        for row in self.document["kernels"]:
            if row["match"] != "same" or row["base"]["names"] != row["new"]["names"]:
                continue
            (name,) = row["base"]["names"]
            for side in ("base", "new"):
                known = {kernel["name"]: kernel["step_ns"] for kernel in self.profiles[side]["kernels"]}
                if known[name] is None:
                    continue  # only the largest kernels are kept step by step; the test below has the totals of the others
                steps = self.steps(side)
                got = row[side]["ns_per_step"] * len(steps)  # of one rank
                count, want = self.traces[side].of(name, steps)
                _, without_call = self.traces[side].of(name, [None])
                self.assertGreaterEqual(got, want - 0.001 * len(steps), (side, name))
                self.assertLessEqual(got, want + without_call + 0.001 * len(steps), (side, name))
                if without_call == 0:
                    exact += 1
                    self.assertAlmostEqual(row[side]["instances_per_step"] * len(steps), count, places=6)
                compared += 1
        self.assertGreater(exact, 20)
        self.assertGreater(compared, 30)

    def test_every_name_and_every_total_of_both_traces_is_there(self):
        for side, matches in (("base", "removed"), ("new", "added")):
            rows = [row for row in self.document["kernels"] if row[side]]
            self.assertEqual({name for row in rows for name in row[side]["names"]}, self.traces[side].names())
            totals = {kernel["name"]: (kernel["instances"], kernel["total_ns"]) for kernel in self.profiles[side]["kernels"]}
            every = [None, -1, *(number for _, _, number in self.traces[side].steps)]
            self.assertEqual(totals, {name: self.traces[side].of(name, every) for name in self.traces[side].names()})
            # Names that TraceDiff finds on one side only are matched by other rules, or added or removed: never "exact".
            other = self.traces["new" if side == "base" else "base"].names()
            for row in rows:
                if not set(row[side]["names"]) & other:
                    self.assertNotEqual(row["matched_by"], "exact")
                elif row["match"] == matches:
                    self.fail(f"{row[side]['names']} is on both sides")

    def test_the_kernel_time_of_a_step_is_that_of_all_its_kernels(self):
        for side in ("base", "new"):
            total = sum(row[side]["ns_per_step"] for row in self.document["kernels"] if row[side])
            mean = sum(row["kernel_time_ns"] for row in self.profiles[side]["steps"]) / len(self.steps(side))
            self.assertAlmostEqual(total / mean, 1, places=6)

    def test_five_steps_of_other_gpus_are_no_verdict(self):
        self.assertEqual(self.document["headline"]["verdict"], "not_enough_steps")
        self.assertEqual(self.document["comparable"]["verdict"], "partly")
        differences = {row["key"]: (row["base"], row["new"]) for row in self.document["comparable"]["differences"]}
        self.assertEqual(differences["gpu"], ("NVIDIA A100-PG509-200", "Tesla V100-SXM2-16GB"))
        self.assertEqual(metric(self.document, "step_time")["interval"], None)


@needs_traces
class RealRuns(Comparing):
    """Before and after a change of the schedule, two GPUs, exported by nsys."""

    FIXTURES = os.path.join(DATA, "nsys", "nsys_ai_fixtures")

    def test_of_nsys_have_all_kernels_and_a_ledger_that_sums(self):
        document = compare(os.path.join(self.FIXTURES, "mfu_2gpu_before.sqlite"), os.path.join(self.FIXTURES, "mfu_2gpu_after.sqlite"))
        self.check_sums(document)
        self.assertEqual(document["comparable"]["matched_time_ratio"], 1)
        self.assertEqual({row["matched_by"] for row in document["kernels"]}, {"exact"})
        # The same kernels take as long; what changed is what the host does and who waits.
        for row in document["families"]:
            if row["family"] != "communication":
                self.assertLessEqual(abs(row["change_ratio"]), 0.03, row["family"])
        self.assertEqual(document["ledger"][0]["part"], "idle_host")

    def test_each_real_trace_with_itself_has_no_difference(self):
        paths = [os.path.join(KINETO, "param_dlrm_8rank_v100", "kineto"), os.path.join(KINETO, "hta_sampled_2of128"), CONTROL]
        paths += sorted(glob.glob(os.path.join(self.FIXTURES, "mfu_*.sqlite")))
        for path in paths:
            with self.subTest(path):
                document = compare(path, path)
                for row in document["metrics"]:
                    self.assertEqual(row["change"] or 0, 0, row["metric"])
                self.assertEqual({row["change_ns_per_step"] for row in document["ledger"] + document["kernels"]}, {0})
                self.assertEqual({row["matched_by"] for row in document["kernels"]}, {"exact"})


if __name__ == "__main__":
    unittest.main()
