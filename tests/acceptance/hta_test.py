"""Every figure whose definition lockstep shares with HolisticTraceAnalysis, on every reference set, with its selection of
rows (by --steps: HTA leaves the last step out).

Not compared, because the definition differs:
  gpu_kernel_breakdown_top10        the rows of gpu_kernel_breakdown_all after the first ten are summed up
  gpu_user_annotation_breakdown     sums the profiler's own per-stream projections; ours is one interval a range
  idle_interval_stats               interpolated quartiles of each stream's gaps; ours are sums a stream, and the device's gaps
  queue_length_summary              launched and not started, sampled at events; lockstep tells the time in the queue instead
  straggler_metric, potential_stragglers   a heuristic of one kernel's duration; ours is a test with a false-alarm rate
"""
import collections
import csv
import decimal
import glob
import gzip
import json
import math
import os
import unittest

from support import DATA, REFERENCE, analyze, needs_traces

KINETO = os.path.join(DATA, "kineto")
HTA = os.path.join(KINETO, "single_rank_hta")
# Set: the traces, HTA's selection, whether times are whole microseconds (else float64 of 1.7e15 us: 0.25 us a time).
SETS = {
    "dlrm_8rank": (os.path.join(KINETO, "param_dlrm_8rank_v100", "kineto"), None, True),
    "trace_filter": (os.path.join(KINETO, "hta_sampled_2of128"), "551", True),
    "nccl_parser_config_noround": (os.path.join(HTA, "nccl_parser_config*"), "4..5", False),
    "trace_diff_control": (os.path.join(HTA, "trace_diff_control*"), "1009..1013", True),
    "ns_resolution_trace_noround": (os.path.join(HTA, "ns_resolution_trace*"), "101..104", False),
}
FLOAT_US = 0.25  # the spacing of HTA's times
COPIES = {"HtoD": "host_to_device", "DtoH": "device_to_host", "DtoD": "device_to_device", "PtoP": "peer_to_peer"}


def rows_of(name, file):
    with open(os.path.join(REFERENCE, "hta", name, file), encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


class Reports:
    """One analysis a set, and one a rank and view that sums over the ranks."""

    cache = {}

    @classmethod
    def of(cls, name, *args, whole=False):
        key = (name, args, whole)
        if key not in cls.cache:
            pattern, steps, _ = SETS[name]
            (path,) = glob.glob(pattern)
            cls.cache[key] = analyze(path, *args, *(["--steps", steps] if steps and not whole else []))
        return cls.cache[key]

    @classmethod
    def view(cls, name, view, *args, whole=False):
        return cls.of(name, "--view", view, *args, whole=whole)[view]


def launches_of(path):
    """correlation -> (what it launched, name of the call), read from the trace itself."""
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")
    with opened as file:
        events = json.load(file)["traceEvents"]
    device, calls = {}, {}
    for event in events:
        correlation = event.get("args", {}).get("correlation")
        if event.get("cat", "").lower() in ("kernel", "gpu_memcpy", "gpu_memset"):
            device[correlation] = (event["cat"].lower(), event["name"])
        elif event.get("cat", "").lower() in ("cuda_runtime", "cuda_driver", "runtime") and correlation is not None:
            calls.setdefault(correlation, event["name"])
    return {c: (*device[c], calls.get(c)) for c in device}


def close_launches(path, stream):
    """Summed gaps of a stream whose launch call starts within 0.25 us of the end before the gap."""
    with gzip.open(path, "rt") as file:
        events = json.load(file, parse_float=decimal.Decimal)["traceEvents"]
    calls = {e["args"].get("correlation"): int(e["ts"] * 1000) for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")}
    rows = sorted((int(e["ts"] * 1000), int(e["dur"] * 1000), calls.get(e["args"].get("correlation"), 0)) for e in events
                  if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and e["args"].get("stream") == stream)
    total, reached = 0, rows[0][0]
    for start, duration, call in rows:
        if start > reached and abs(call - reached) <= 1000 * FLOAT_US:
            total += start - reached
        reached = max(reached, start + duration)
    return total


@needs_traces
class EverySet(unittest.TestCase):
    def each(self):
        for name, (_, _, exact) in SETS.items():
            yield name, exact

    def near(self, got_ns, want_us, exact, times=1, what=""):
        """Equal; or within what `times` float64 times can be off."""
        self.assertLessEqual(abs(got_ns - 1000 * float(want_us)), 10 if exact else 1000 * FLOAT_US * math.sqrt(times) + 10, what)

    def test_idle_time_by_stream_and_category_is_equal(self):
        for name, exact in self.each():
            streams = {(row["rank"], s["stream"]): s for row in Reports.view(name, "idle") for s in row["streams"]}
            wanted = collections.defaultdict(dict)
            for row in rows_of(name, "idle_time_breakdown.csv"):
                wanted[int(row["rank"]), int(row["stream"])][row["idle_category"]] = row["idle_time"]
            self.assertLessEqual(set(wanted), set(streams))
            for key, parts in wanted.items():
                whole = sum(streams[key][part + "_ns"] for part in ("host_wait", "kernel_wait", "other"))
                self.near(whole, sum(map(float, parts.values())), exact, what=(name, key))
                # Launches as close to the end before as HTA's float64 times are coarse may count either way there.
                ties = 0 if exact else close_launches(Reports.of(name, "--view", "ranks")["ranks"][0]["path"], key[1])
                for part, want in parts.items():
                    self.assertLessEqual(abs(streams[key][part + "_ns"] - 1000 * float(want)), 20 + ties, (name, key, part))

    def test_kernels_of_each_rank_are_equal(self):
        for name, exact in self.each():
            got = {(row["name"], r["rank"]): r for row in Reports.view(name, "kernels") for r in row["by_rank"]}
            wanted = [r for r in rows_of(name, "gpu_kernel_breakdown_all.csv") if r["kernel_type"] != "MEMORY"]
            self.assertEqual(set(got), {(r["name"], int(r["rank"])) for r in wanted})
            for row in wanted:
                rank = got[row["name"], int(row["rank"])]
                self.near(rank["total_ns"], row["sum (us)"], True, what=row)
                self.near(rank["min_ns"], row["min (us)"], True, what=row)
                self.near(rank["max_ns"], row["max (us)"], True, what=row)
                self.near(rank["mean_ns"], row["mean (us)"], True, what=row)
                self.near(rank["stddev_ns"], row["stddev"] or 0, True, what=row)

    def test_copies_of_each_rank_are_equal(self):
        for name, exact in self.each():
            wanted = collections.defaultdict(lambda: collections.defaultdict(float))
            for row in rows_of(name, "gpu_kernel_breakdown_all.csv"):
                if row["kernel_type"] == "MEMORY":
                    words = row["name"].split()
                    kind = "memset" if words[0] == "Memset" else COPIES[words[1]]
                    wanted[int(row["rank"])][kind] += float(row["sum (us)"])
            for rank, kinds in wanted.items():
                got = {row["kind"]: row for row in Reports.view(name, "memory", "--ranks", rank)}
                self.assertEqual(set(got), set(kinds))
                for kind, total in kinds.items():
                    self.near(got[kind]["total_ns"], total, True, what=(rank, kind))

    def test_copy_bandwidths_are_those_of_the_trace(self):
        for name, exact in self.each():
            with open(os.path.join(REFERENCE, "hta", name, "memory_bw_summary.csv"), encoding="utf-8") as file:
                rows = list(csv.reader(file))[3:]
            for rank, what, count, mean, _, least, *_, most in rows:
                kind = "memset" if what == "Memset" else COPIES[what.split()[1]]
                got = {r["kind"]: r for r in Reports.view(name, "memory", "--ranks", rank)}[kind]["bandwidth_gbps"]
                self.assertLessEqual(got["count"], int(float(count)))  # not of those that took no time at all
                for key, value in (("mean", mean), ("min", least), ("max", most)):
                    # The profiler divided by durations that the trace holds as whole microseconds, often one or two.
                    if not exact:
                        self.assertAlmostEqual(got[key] / float(value), 1, places=6, msg=(rank, what, key))

    def test_kernel_types_are_equal(self):
        for name, exact in self.each():
            want = collections.defaultdict(int, {r["kernel_type"]: int(r["sum"]) for r in rows_of(name, "gpu_kernel_type_breakdown.csv")})
            total = collections.Counter()
            for row in Reports.view(name, "overlap"):
                for key in ("compute_ns", "overlap_ns", "exposed_comm_ns", "strict_exposed_comm_ns", "copy_only_ns"):
                    total[key] += row[key]
            pairs = {
                "communication alone": (total["strict_exposed_comm_ns"], want["COMMUNICATION"]),
                "copies alone": (total["copy_only_ns"], want["MEMORY"]),
                "communication under copies": (total["exposed_comm_ns"] - total["strict_exposed_comm_ns"], want["COMMUNICATION overlapping MEMORY"]),
                "communication under compute": (total["overlap_ns"], want["COMPUTATION overlapping COMMUNICATION"] + want["COMPUTATION overlapping COMMUNICATION overlapping MEMORY"]),
                "compute": (total["compute_ns"], sum(value for key, value in want.items() if key.startswith("COMPUTATION"))),
            }
            segments = 0 if exact else sum(r["kernels"] + r["copies"] for r in Reports.of(name, "--view", "ranks")["ranks"])
            for what, (got, wanted) in pairs.items():
                self.assertLessEqual(1000 * wanted, got + 10, what)  # segments are cut to whole microseconds
                self.assertLessEqual(got, 1000 * (wanted + segments), what)

    def test_the_temporal_breakdown_and_overlap_are_equal(self):
        for name, exact in self.each():
            got = {row["rank"]: row for row in Reports.view(name, "overlap")}
            for row in rows_of(name, "temporal_breakdown.csv"):
                rank = got[int(row["rank"])]
                self.near(rank["span_ns"], row["kernel_time(us)"], exact, what=row)
                self.near(rank["idle_ns"], row["idle_time(us)"], exact, what=row)
                self.near(rank["compute_ns"], row["compute_time(us)"], exact, what=row)
                self.near(rank["span_ns"] - rank["idle_ns"] - rank["compute_ns"], row["non_compute_time(us)"], exact, what=row)
            for row in rows_of(name, "comm_comp_overlap.csv"):
                ratio = got[int(row["rank"])]["overlap_ratio"]
                if row["comp_comm_overlap_pctg"]:
                    self.assertAlmostEqual(100 * ratio, float(row["comp_comm_overlap_pctg"]), delta=0.00501)
                else:
                    self.assertIsNone(ratio)

    def test_launch_statistics_of_rank_0_are_equal(self):
        for name in ("dlrm_8rank", "trace_filter", "nccl_parser_config_noround", "ns_resolution_trace_noround"):
            with self.subTest(name):
                exact = SETS[name][2]
                rank = Reports.of(name, "--view", "ranks")["ranks"][0]
                launched = launches_of(rank["path"])
                want = collections.defaultdict(lambda: [0, 0.0, 0.0, 0.0])
                for row in rows_of(name, "cuda_kernel_launch_stats_rank0.csv"):
                    what, kernel, call = launched[int(row["correlation"])]
                    if what != "kernel":
                        continue  # nsys's kernel execution sum, whose rows these are, is of kernels
                    entry = want[call, kernel]
                    entry[0] += 1
                    for i, key in enumerate(("cpu_duration", "gpu_duration", "launch_delay")):
                        entry[i + 1] += float(row[key])
                got = collections.defaultdict(list)  # a row a thread
                for row in Reports.view(name, "launches", "--ranks", rank["rank"]):
                    got[row["api"], row["kernel"]].append(row)
                self.assertEqual(set(got), set(want))
                for key, (count, call, kernel, delay) in want.items():
                    sums = {part: sum((row[part]["mean"] or 0) * row[part]["count"] for row in got[key]) for part in ("api_ns", "kernel_ns", "queue_ns")}
                    self.assertEqual(sum(row["count"] for row in got[key]), count)
                    self.near(sums["api_ns"], call, True, what=key)
                    self.near(sums["kernel_ns"], kernel, True, what=key)
                    # A kernel that began before its call returned waited for nothing: HTA counts 0, nsys leaves it out.
                    self.near(sums["queue_ns"], delay, exact, 4 * count * count, key)

    def test_annotations_of_the_host_are_equal(self):
        for name, _ in self.each():
            wanted = rows_of(name, "cpu_user_annotation_breakdown.csv")
            for rank in {row["rank"] for row in wanted}:
                got = {r["range"]: r for r in Reports.view(name, "nvtx", "--ranks", rank)}
                for row in (r for r in wanted if r["rank"] == rank):
                    self.near(got[row["name"]]["total_ns"], row["sum (us)"], True, what=row)
                    self.near(got[row["name"]]["duration_ns"]["max"], row["max (us)"], True, what=row)
                    self.near(got[row["name"]]["duration_ns"]["min"], row["min (us)"], True, what=row)

    def test_the_steps_are_equal(self):
        for name, _ in self.each():
            with open(os.path.join(REFERENCE, "hta", name, "profiler_steps.json"), encoding="utf-8") as file:
                want = json.load(file)
            for rank in Reports.of(name, "--view", "ranks", whole=True)["ranks"]:
                steps = list(range(rank["steps"]["first"], rank["steps"]["last"] + 1))
                self.assertEqual(steps if len(steps) == 1 else steps[:-1], want)


if __name__ == "__main__":
    unittest.main()
