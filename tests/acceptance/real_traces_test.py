"""Real traces, against what other programs computed on them (../shared/reference)."""
import csv
import glob
import json
import os
import unittest

from support import DATA, REFERENCE, analyze, needs_traces, run

KINETO = os.path.join(DATA, "kineto")
DLRM = os.path.join(KINETO, "param_dlrm_8rank_v100", "kineto")
HTA = os.path.join(KINETO, "single_rank_hta")


def reference(name):
    with open(os.path.join(REFERENCE, name), encoding="utf-8") as file:
        return json.load(file)


def csv_rows(*parts):
    with open(os.path.join(REFERENCE, *parts), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@needs_traces
class Dlrm(unittest.TestCase):
    def test_the_eight_instances_have_the_reference_arrivals(self):
        report = analyze(DLRM, "--view", "skew", "--instances=all")
        truth = {}
        for row in csv_rows("dlrm_8rank_arrival.csv"):
            truth.setdefault(int(row["ordinal"]), {})[int(row["rank"])] = row
        instances = sorted(report["skew"]["instances"], key=lambda i: max(m["start_ns"] for m in i["members"]))
        self.assertEqual(len(instances), 8)
        for ordinal, instance in enumerate(instances):
            rows = truth[ordinal]
            starts = {rank: int(row["start_us"]) for rank, row in rows.items()}
            ends = [int(row["end_us"]) for row in rows.values()]
            self.assertEqual(instance["spread_ns"], 1000 * (max(starts.values()) - min(starts.values())))
            self.assertEqual(instance["end_spread_ns"], 1000 * (max(ends) - min(ends)))
            self.assertEqual(instance["shortest_duration_ns"], 1000 * min(int(row["dur_us"]) for row in rows.values()))
            self.assertEqual(instance["last_rank"], max(starts, key=starts.get))
            for member in instance["members"]:
                self.assertEqual(member["wait_ns"], 1000 * int(rows[member["rank"]]["wait_us_vs_last_arrival"]))
        self.assertEqual([i["transfer_ns"] // 1000 for i in instances], [9, 6, 7, 6, 82, 8, 18, 62])
        waits = [row["wait_total_ns"] // 1000 for row in report["skew"]["ranks"]]
        self.assertEqual(waits, [5580, 11125, 3280, 9571, 6370, 6041, 3342, 1534])
        caused = sum(row["caused_wait_total_ns"] for row in report["skew"]["ranks"])
        self.assertEqual(caused + report["skew"]["unassigned_wait_ns"], 1000 * sum(waits))

    def test_overlap_and_breakdown_equal_the_reference(self):
        want = reference("hta_reproduction.json")["sets"]["dlrm_8rank"]
        for row in analyze(DLRM, "--view", "overlap")["overlap"]:
            rank = want[str(row["rank"])]
            self.assertEqual(row["span_ns"], rank["span_ns"])
            self.assertEqual(row["compute_ns"], rank["compute_ns"])
            self.assertEqual(row["idle_ns"], rank["idle_ns"])
            self.assertEqual(round(100 * row["overlap_ratio"], 2), rank["hta_overlap_pct"])
            parts = row["exposed_wait_ns"] + row["exposed_transfer_ns"] + row["exposed_unresolved_ns"]
            self.assertEqual(parts, row["exposed_comm_ns"])

    def test_kernels_by_rank_equal_the_reference_breakdown(self):
        got = {}
        for row in analyze(DLRM, "--view", "kernels")["kernels"]:
            for rank in row["by_rank"]:
                got[(row["name"], rank["rank"])] = rank
        checked = 0
        for row in csv_rows("hta", "dlrm_8rank", "gpu_kernel_breakdown_all.csv"):
            if row["kernel_type"] == "MEMORY":
                continue
            rank = got[(row["name"], int(row["rank"]))]
            self.assertAlmostEqual(rank["total_ns"] / 1000, float(row["sum (us)"]), places=3)
            self.assertAlmostEqual(rank["min_ns"] / 1000, float(row["min (us)"]), places=3)
            self.assertAlmostEqual(rank["max_ns"] / 1000, float(row["max (us)"]), places=3)
            self.assertAlmostEqual(rank["mean_ns"] / 1000, float(row["mean (us)"]), places=2)
            self.assertAlmostEqual(rank["stddev_ns"] / 1000, float(row["stddev"] or 0), places=2)
            checked += 1
        self.assertGreater(checked, 500)


@needs_traces
class SingleRanks(unittest.TestCase):
    def overlap(self, name, *args):
        (path,) = glob.glob(os.path.join(HTA, name + "*"))
        return analyze(path, "--view", "overlap", *args)["overlap"][0]

    def check(self, row, span, compute, idle, percent=None):
        self.assertEqual((row["span_ns"], row["compute_ns"], row["idle_ns"]), (span, compute, idle))
        if percent is not None:
            self.assertAlmostEqual(100 * row["overlap_ratio"], percent, delta=0.5 * 10 ** -len(str(percent).split(".")[1]))

    def test_nccl_data_whole_and_by_steps(self):
        self.check(self.overlap("nccl_parser"), 660_551_005, 115_655_847, 503_050_991, 15.609)
        self.check(self.overlap("nccl_parser", "--steps", "4..5"), 435_587_561, 76_935_828, 336_419_714, 14.76)

    def test_nccl_data_collectives_carry_their_metadata(self):
        (path,) = glob.glob(os.path.join(HTA, "nccl_parser*"))
        for args, count in (([], 21), (["--steps", "4..5"], 14)):
            rows = analyze(path, "--view", "collectives", *args)["collectives"]
            self.assertEqual(sum(row["instances"] for row in rows), count)
            for row in rows:
                self.assertEqual(row["communicator"]["name"], "0")
                self.assertEqual(row["communicator"]["desc"], "default_pg")
                self.assertEqual(row["members"], [0, 1])
        sizes = {(row["op"], row["dtype"], row["bytes"]) for row in rows}
        self.assertIn(("all_reduce", "float32", 6637568 * 4), sizes | {("all_reduce", "float32", 26550272)})
        self.assertIn(("broadcast", "int64", 424), sizes)

    def test_trace_diff_control_whole_and_by_steps(self):
        self.check(self.overlap("trace_diff_control"), 464_594_000, 281_336_000, 76_007_000, 46.237)
        self.check(self.overlap("trace_diff_control", "--steps", "1009..1013"), 383_404_000, 234_760_000, 62_119_000, 47.03)

    def test_ns_resolution_by_steps(self):
        self.check(self.overlap("ns_resolution", "--steps", "101..104"), 384_634_463, 374_738_006, 6_452_701)


@needs_traces
class Nsys(unittest.TestCase):
    FILE = os.path.join(DATA, "nsys", "nsys_ai_fixtures", "mfu_2gpu_before.sqlite")

    def test_one_file_holds_two_ranks_which_are_assumed(self):
        report = analyze(self.FILE, "--view", "ranks,quality,skew,collectives", "--instances=all")
        self.assertEqual([row["rank_source"] for row in report["ranks"]], ["assumed", "assumed"])
        gates = {gate["name"]: gate["ok"] for gate in report["quality"]["gates"]}
        self.assertIs(gates["rank_identity"], False)
        self.assertEqual(sum(row["matched"] for row in report["collectives"]), 33)
        self.assertEqual(len(report["skew"]["instances"]), 33)
        for instance in report["skew"]["instances"]:
            self.assertEqual(instance["resolvable"], instance["spread_ns"] > instance["uncertainty_ns"])

    def test_kernels_equal_nsys_stats(self):
        rows = {row["name"]: row for row in analyze(self.FILE, "--view", "kernels")["kernels"]}
        row = rows["ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"]
        duration = row["duration_ns"]
        self.assertEqual((row["instances"], row["total_ns"]), (66, 25_401_752))
        self.assertEqual((duration["min"], duration["max"], duration["median"]), (89_440, 3_603_569, 168_208))
        self.assertEqual((round(duration["mean"], 1), round(duration["stddev"], 1)), (384_875.0, 633_670.6))


@needs_traces
class EveryFile(unittest.TestCase):
    def test_the_thinned_two_of_128_ranks_are_ambiguous(self):
        report = analyze(os.path.join(KINETO, "hta_sampled_2of128"), "--view", "collectives,skew", "--instances=all")
        self.assertEqual({row["match"] for row in report["collectives"]}, {"ambiguous"})
        self.assertEqual(report["skew"]["instances"], [])

    def test_counts_equal_an_independent_readers(self):
        checked = 0
        for path, want in sorted(reference("expected.json")["files"].items()):
            if want["format"] not in ("kineto", "nsys_sqlite"):
                continue
            full = os.path.join(DATA, path)
            report = analyze(full, "--view", "ranks,memory")
            with self.subTest(path):
                ranks = report["ranks"]
                self.assertEqual({rank["format"] for rank in ranks}, {want["format"].replace("_sqlite", "")})
                self.assertEqual(sum(rank["kernels"] for rank in ranks), want["kernels"])
                collectives = want["collective_kernels"]
                collectives = sum(collectives.values()) if isinstance(collectives, dict) else collectives
                self.assertEqual(sum(rank["collectives"] for rank in ranks), collectives)
                self.assertEqual(sum(rank["copies"] for rank in ranks), want["memcpy"] + want["memset"])
                kinds = report["memory"]
                memsets = sum(row["operations"] for row in kinds if "memset" in row["kind"])
                self.assertEqual(memsets, want["memset"])
                self.assertEqual(sum(row["operations"] for row in kinds) - memsets, want["memcpy"])
                if want.get("rank") is not None and len(ranks) == 1:
                    self.assertEqual(ranks[0]["rank"], want["rank"])
            checked += 1
        self.assertGreater(checked, 35)

    def test_all_at_once_are_several_runs_with_a_command_for_each(self):
        done = run("lockstep", "analyze", DATA)
        self.assertEqual(done.returncode, 2)
        self.assertIn("different runs", done.stderr)
        command = next(line for line in done.stderr.split("\n") if "lockstep analyze" in line and "(8 files)" in line)
        folder = command.split("'")[1]  # it holds these files and nothing of another run
        self.assertEqual(len([name for name in os.listdir(folder) if "worker" in name]), 8)
        self.assertLess(len(done.stderr), 4096)


if __name__ == "__main__":
    unittest.main()
