"""Whose tail it is: by rank, host, phase, slice and step, and the waits of collectives, against the raw instances.

The oracle reads the simulated files by itself. LOCKSTEP_SEED chooses the run.
"""
import bisect
import gzip
import json
import math
import os
import unittest
from collections import Counter, defaultdict, namedtuple

from support import TempDirTest, analyze, run, simulate

SEED = int(os.environ.get("LOCKSTEP_SEED", "5"))
HOSTS = 2
RANKS_OF_HOST = 4
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
PHASES = {"step[DECODE": "decode", "step[EXTEND": "prefill"}

Kernel = namedtuple("Kernel", "rank name start duration step phase")


def to_ns(us):
    return round(us * 1000)


def at(ranges, time):
    """The label of the range (start, end, label) that holds the time; the ranges do not overlap."""
    place = bisect.bisect_right(ranges, (time, math.inf)) - 1
    return ranges[place][2] if place >= 0 and time < ranges[place][1] else None


def read_rank(path, rank):
    with gzip.open(path, "rt") as file:
        trace = json.load(file)
    base = trace["baseTimeNanoseconds"]
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X" and "cat" in event]
    launches, steps, phases = {}, [], []
    for event in events:
        name, start = event["name"], to_ns(event["ts"])
        if event["cat"] == "cuda_runtime" and "correlation" in event["args"]:
            launches.setdefault(event["args"]["correlation"], start)
        if event["cat"] == "user_annotation" and name.startswith("ProfilerStep#"):
            steps.append((start, start + to_ns(event["dur"]), int(name.split("#")[1])))
        if event["cat"] == "user_annotation" and name.split(" ")[0] in PHASES:
            phases.append((start, start + to_ns(event["dur"]), PHASES[name.split(" ")[0]]))
    steps.sort()
    phases.sort()
    for event in events:
        if event["cat"] in DEVICE:
            launch = launches[event["args"]["correlation"]]
            start = base + to_ns(event["ts"])
            yield event["cat"], Kernel(rank, event["name"], start, to_ns(event["dur"]), at(steps, launch), at(phases, launch))


def end_of_bucket(value):
    """The last integer of the histogram bucket (2^(i/64), 2^((i+1)/64)] seconds that holds the value."""
    index = math.ceil(math.log2(value * 1e-9) * 64) - 1
    return math.floor(2 ** ((index + 1) / 64) * 1e9)


class Tails(TempDirTest):
    def run_of(self, *causes, steps=40, layers=6):
        folder = simulate(self.path("run"), "--program", "decode", "--tp", HOSTS * RANKS_OF_HOST, "--hosts", HOSTS,
                          "--gpus-per-host", RANKS_OF_HOST, "--layers", layers, "--steps", steps, "--seed", SEED,
                          *(word for cause in causes for word in ("--cause", cause)))
        self.by_name = defaultdict(list)
        self.first = math.inf
        for rank in range(HOSTS * RANKS_OF_HOST):
            for category, activity in read_rank(os.path.join(folder, f"rank{rank}.json.gz"), rank):
                self.first = min(self.first, activity.start)
                if category == "kernel":
                    self.by_name[activity.name].append(activity)
        return folder

    def tail_of(self, name):
        kernels = self.by_name[name]
        durations = sorted(kernel.duration for kernel in kernels)
        end = end_of_bucket(durations[-(-len(durations) * 99 // 100) - 1])
        return [kernel for kernel in kernels if kernel.duration > end]

    def check_shares(self, parts, key, counts, total, place):
        """The shares of the parts told; parts without any of the tail have the share 0."""
        got = {part[key]: part["share_of_tail_ratio"] for part in parts}
        if total == 0:
            self.assertEqual(set(got.values()) - {None}, set(), place)
            return
        for label, count in counts.items():
            self.assertAlmostEqual(got.pop(label), count / total, places=7, msg=(place, label))
        self.assertEqual(set(got.values()) - {0}, set(), place)

    def check_slices(self, row, tail):
        places = Counter()
        for kernel in tail:
            since = kernel.start - self.first
            (slice_,) = [part for part in row["by_slice"] if part["start_ns"] <= since < part["start_ns"] + part["span_ns"]]
            places[slice_["start_ns"]] += 1
        self.assertAlmostEqual(sum(part["share_of_tail_ratio"] or 0 for part in row["by_slice"]), 1 if tail else 0, places=6)
        for part in row["by_slice"]:
            # Clocks are compared to within a microsecond: an instance at a boundary may lie on either side.
            self.assertLessEqual(abs((part["share_of_tail_ratio"] or 0) * len(tail) - places[part["start_ns"]]), 1.001)

    def check_steps(self, row, tail):
        """Shares of steps are those of the instances whose step is known: all of them, or the longest."""
        if not tail:
            self.assertEqual((row["by_step"], row["by_step_told_ratio"]), ([], None), row["name"])
            return False
        steps = Counter(kernel.step for kernel in tail)
        got = {part["step"]: part["share_of_tail_ratio"] * len(tail) for part in row["by_step"]}
        self.assertLessEqual(len(got), 8)
        whole = row["by_step_told_ratio"] == 1
        for step, count in got.items():
            self.assertLessEqual(count, steps[step] + 1e-3, row["name"])
        if whole:
            order = sorted(steps.items(), key=lambda entry: (-entry[1], entry[0] is None, entry[0]))[:8]
            self.assertEqual([(step, round(count)) for step, count in got.items()], order, row["name"])
        return whole

    def check_row(self, row):
        """True if the steps of the whole tail are known, None without a tail."""
        tail = self.tail_of(row["name"])
        self.check_shares(row["by_rank"], "rank", Counter(k.rank for k in tail), len(tail), row["name"])
        hosts = Counter(f"node{k.rank // RANKS_OF_HOST:03}" for k in tail)
        self.check_shares(row["by_host"], "host", hosts, len(tail), row["name"])
        self.check_shares(row["by_phase"], "phase", Counter(k.phase for k in tail if k.phase), len(tail), row["name"])
        self.check_slices(row, tail)
        whole = self.check_steps(row, tail)
        longest = sorted(self.by_name[row["name"]], key=lambda k: -k.duration)[:8]
        self.assertEqual([e["duration_ns"] for e in row["exemplars"]], [k.duration for k in longest])
        for e in row["exemplars"]:
            near = [k for k in self.by_name[row["name"]] if (k.rank, k.duration, k.step) == (e["rank"], e["duration_ns"], e["step"])
                    and abs(k.start - self.first - e["start_ns"]) < 1000]
            self.assertEqual(len(near), 1, e)
        return whole if tail else None

    def test_is_split_as_the_raw_instances_are(self):
        folder = self.run_of("jitter:sigma=0.3", "kernel_tail:p=0.004,factor=8", "prefill_mix:every=7,factor=2")
        rows = analyze(folder, "--view", "tails")["tails"]
        told = [self.check_row(row) for row in rows if row["category"] == "compute"]
        self.assertGreater(sum(whole is not None for whole in told), 3)
        self.assertGreater(sum(whole is True for whole in told), 2)
        self.assertEqual({part["phase"] for row in rows for part in row["by_phase"]}, {"decode", "prefill"})

    def test_of_one_step_is_told_by_that_step(self):
        slow = [f"transient:rank={rank},from=17,to=18,factor=5" for rank in range(HOSTS * RANKS_OF_HOST)]
        folder = self.run_of(*slow, steps=120)
        rows = analyze(folder, "--view", "tails")["tails"]
        named = [row for row in rows if row["category"] == "compute" and Counter(
            k.step for k in self.tail_of(row["name"]))[17] > 0.5 * len(self.tail_of(row["name"]))]
        self.assertGreater(len(named), 3)
        for row in named:
            self.check_row(row)
            self.assertEqual(row["by_step"][0]["step"], 17)
            self.assertGreater(row["by_step"][0]["share_of_tail_ratio"], 0.5)
        self.assertIn("in step", run("lockstep", "analyze", folder, "--view", "tails").stdout)

    def test_of_collectives_is_split_into_wait_and_transfer(self):
        folder = self.run_of("late_host:rank=2,us=150,p=0.05")
        report = analyze(folder, "--view", "tails,skew", "--instances=all")
        (row,) = [row for row in report["tails"] if row["category"] == "communication"]
        instances = report["skew"]["instances"]
        waits = sorted(member["wait_ns"] for instance in instances for member in instance["members"])
        transfers = sorted(i["transfer_ns"] for i in instances if i["transfer_ns"] is not None)
        for pct, values in ((row["wait_ns"], waits), (row["transfer_ns"], transfers)):
            self.assertEqual((pct["count"], pct["min"], pct["max"]), (len(values), values[0], values[-1]))
            for level, part in (("p50", 50), ("p95", 95), ("p99", 99)):
                exact = values[-(-len(values) * part // 100) - 1]
                low, high = pct.get("bounds", {}).get(level, (pct[level],) * 2)
                self.assertLessEqual(low, exact)
                self.assertLessEqual(exact, high)
        # What one rank's host delays is a tail of waits, not of transfers.
        self.assertGreater(row["wait_ns"]["p99"], 5 * row["wait_ns"]["p50"])
        self.assertLess(row["transfer_ns"]["p99"], 2 * row["transfer_ns"]["p50"])


if __name__ == "__main__":
    unittest.main()
