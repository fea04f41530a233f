"""Findings: each condition planted in a simulated run raises exactly its finding, with the place; a healthy run none."""
import json
import os
import shutil
import unittest

from support import TempDirTest, analyze, simulate

SEED = int(os.environ.get("LOCKSTEP_SEED", "1"))
ALIKE = ["--noise", "device_spread=0.001"]  # no device is slow by nature
DECODE = ["--tp", 8, "--steps", 100, "--layers", 16, "--model-scale", 6, *ALIKE]
REPLICAS = ["--tp", 1, "--dp", 8, "--steps", 100, "--layers", 16, "--model-scale", 6, *ALIKE]
TRAIN = ["--program", "train", "--tp", 2, "--dp", 4, "--steps", 40, "--layers", 8, "--model-scale", 3, *ALIKE]

UNEVEN = ["--program", "train", "--tp", 2, "--dp", 4, "--steps", 30, "--layers", 16, "--model-scale", 3, *ALIKE]
SMALL_STEPS = ["--steps", 40, "--layers", 16, "--model-scale", 6, *ALIKE]

# Nothing is planted, and nothing of it costs much: eager and graphs, decoding, prefill, training, all kinds of groups.
HEALTHY = [
    ("eager", DECODE),
    ("graphs", [*DECODE, "--graphs"]),
    ("tensor and data parallel", ["--tp", 2, "--dp", 4, *SMALL_STEPS]),
    ("prefill", ["--program", "prefill", "--tp", 8, "--steps", 25, "--layers", 8, "--model-scale", 6, *ALIKE]),
    ("train", TRAIN),
    ("pipeline", ["--program", "train", "--tp", 2, "--dp", 2, "--pp", 2, "--micro-batches", 20, "--steps", 20,
                  "--layers", 8, "--model-scale", 3, *ALIKE]),
    ("experts", ["--program", "moe", "--tp", 1, "--dp", 8, "--ep", 4, "--steps", 20, "--layers", 8,
                 "--model-scale", 6, *ALIKE]),
    ("sharded", ["--program", "train", "--tp", 1, "--dp", 8, "--shard", "full", "--steps", 20, "--layers", 8,
                 "--model-scale", 3, *ALIKE]),
]

# Class of the workload, what makes it one, the finding that tells it (None: the class is only said).
CLASSES = [
    ("compute", DECODE, [], None),
    ("memory", DECODE, ["--cause", "memory_bound"], "workload_class"),
    ("overhead", REPLICAS, ["--cause", "host_bound"], "gpu_idle_host_bound"),
    ("communication", DECODE, ["--cause", "slow_transfer:factor=20"], "exposed_transfer"),
]

# Finding, program, what is planted, where it must be told to be ("" = anywhere).
PLANTED = [
    ("gpu_idle_host_bound", REPLICAS, ["--cause", "host_bound"], "all ranks"),
    ("launch_bound", REPLICAS, ["--cause", "slow_launch:us=40"], "all ranks"),
    ("small_kernels", DECODE, ["--cause", "small_kernels:split=10"], "elementwise"),
    ("sync_in_step", DECODE, ["--cause", "sync"], "all ranks"),
    ("alloc_hot_path", DECODE, ["--cause", "alloc:us=800"], "all ranks"),
    ("host_copies_in_loop", DECODE, ["--cause", "host_copies"], "all ranks"),
    ("copies_dominate", TRAIN, ["--cause", "big_copies"], "all ranks"),
    ("attention_dominates", DECODE, ["--cause", "long_attention"], "flash_fwd"),
    ("kernel_tail", DECODE, ["--cause", "kernel_tail:p=0.08"], ""),
    ("outliers", DECODE, ["--cause", "outlier"], ""),
    ("exposed_transfer", DECODE, ["--cause", "slow_transfer:factor=8"], "all ranks"),
    ("exposed_wait", DECODE, ["--cause", "jitter"], ""),
    ("prefill_blocks_decode", DECODE, ["--cause", "prefill_mix"], ""),
    ("prefill_blocks_decode", ["--program", "batching", "--tp", 8, *SMALL_STEPS], [], "rank "),
    ("nccl_imbalance", UNEVEN, ["--cause", "uneven_traffic:rank=1"], "ranks 1, 3, 5 and 7"),
    ("workload_class", DECODE, ["--cause", "memory_bound"], "all ranks"),
    ("opaque_graphs", DECODE, ["--graphs", "--defect", "opaque_graphs"], ""),
    ("slow_device", DECODE, ["--cause", "slow_gpu:rank=3,factor=1.06"], "rank 3 on node000"),
    ("persistent_straggler", DECODE, ["--cause", "late_host:rank=5,us=300,p=0.05"], "rank 5 on node000"),
]


class PlantedConditions(TempDirTest):
    def report(self, trace_format, *flags, views="findings"):
        self.runs = getattr(self, "runs", 0) + 1
        folder = simulate(self.path(f"run{self.runs}"), *flags, "--format", trace_format, "--seed", SEED)
        report = analyze(folder, "--view", views)
        with open(os.path.join(folder, "truth.json"), encoding="utf-8") as file:
            report["expected"] = json.load(file)["expected_findings"]
        shutil.rmtree(folder)
        return report

    def test_each_raises_exactly_its_finding_and_names_the_place(self):
        for number, (want, program, planted, where) in enumerate(PLANTED):
            trace_format = "nsys" if want == "opaque_graphs" or (number + SEED) % 2 else "kineto"
            with self.subTest(finding=want, planted=planted, format=trace_format):
                report = self.report(trace_format, *program, *planted)
                found = report["findings"]
                self.assertEqual({finding["id"] for finding in found}, {want})
                self.assertEqual(report["expected"], [want])
                places = " ".join(evidence["where"] or "" for evidence in found[0]["evidence"])
                self.assertIn(where, places)
                self.assertTrue(places, "every finding has a place")
                self.assertTrue(found[0]["cause"] and found[0]["next_action"])

    def test_a_healthy_run_raises_none(self):
        for number, (name, flags) in enumerate(HEALTHY):
            for trace_format in ("kineto", "nsys") if number < 2 else ("kineto",) if SEED % 2 else ("nsys",):
                with self.subTest(run=name, format=trace_format):
                    self.assertEqual(self.report(trace_format, *flags)["findings"], [])

    def test_the_class_of_the_workload_is_said_and_found_where_nothing_particular_explains_it(self):
        for want, program, planted, finding in CLASSES:
            with self.subTest(workload=want):
                report = self.report("kineto", *program, *planted, views="findings,summary")
                self.assertEqual(report["summary"]["workload"]["class"], want)
                self.assertEqual([f["id"] for f in report["findings"]], [finding] if finding else [])


class SlowSteps(TempDirTest):
    def steps(self, *cause):
        folder = simulate(self.path("run"), "--tp", 4, *SMALL_STEPS, "--cause", *cause, "--seed", SEED)
        return analyze(folder, "--view", "steps")["steps"]

    def test_a_device_that_is_slow_for_a_while_is_told_on_its_rank_and_on_those_that_wait(self):
        steps = self.steps("transient:rank=2,from=20,to=24,factor=1.5")
        for step in steps:
            inside = 20 <= step["step"] <= 24
            if step["rank"] == 2 and 20 <= step["step"] < 24:
                self.assertIn("computing +", step["why"])
                self.assertIn("in as many launches", step["why"])
                self.assertRegex(step["why"], r"kernels take 1\.(49|5\d?) times as long|kernels take 1\.5")
            elif step["rank"] != 2 and 21 <= step["step"] < 24:
                self.assertIn("waiting for other ranks", step["why"])
                self.assertIn("for rank 2 ", step["why"])
            elif not inside and step["why"] is not None:
                self.assertNotIn("computing +", step["why"].split(";")[0])

    def test_a_pause_of_the_host_is_one_gap_on_its_rank(self):
        told = [step["why"] for step in self.steps("periodic_pause:rank=1,every=10,ms=4") if step["rank"] == 1]
        paused = [why for why in told if why and "one gap of" in why]
        self.assertGreaterEqual(len(paused), 3)
        self.assertLess(len([why for why in told if why]), len(told) / 2, "most steps are within the noise")

    def test_a_step_bound_by_its_host_is_called_so_with_its_budget(self):
        folder = simulate(self.path("run"), *REPLICAS, "--cause", "host_bound", "--seed", SEED)
        for step in analyze(folder, "--view", "steps", "--ranks", "0,1")["steps"]:
            self.assertEqual(step["verdict"], "host")
            self.assertGreater(step["budget"]["host_gap_ratio"], step["budget"]["busy_ratio"])


class Bursts(TempDirTest):
    def test_a_device_whose_host_stalls_works_in_bursts_that_idleness_follows(self):
        folder = simulate(self.path("run"), "--tp", 1, "--dp", 2, "--steps", 60, "--layers", 16, "--model-scale", 6, *ALIKE,
                          "--cause", "data_stall:rank=1,p=0.1,ms=60", "--seed", SEED)
        calm, stalled = (row["bursts"] for row in analyze(folder, "--view", "idle")["idle"])
        self.assertEqual(calm["count"], 0)
        self.assertGreaterEqual(stalled["count"], 2)
        self.assertGreater(stalled["idle_after_ns"], 50e6 * stalled["count"])


class TrainingPhases(TempDirTest):
    def test_forward_backward_and_optimizer_share_the_step(self):
        for trace_format in ("kineto", "nsys"):
            folder = simulate(self.path(trace_format), *TRAIN, "--format", trace_format, "--seed", SEED)
            for step in analyze(folder, "--view", "steps", "--ranks", "0")["steps"]:
                shares = step["phases"]
                self.assertLess(shares["forward_ratio"], shares["backward_ratio"])
                self.assertLess(shares["optimizer_ratio"], shares["forward_ratio"])
                self.assertLessEqual(sum(shares.values()), 1 + 1e-9)
                self.assertGreater(sum(shares.values()), 0.9)


if __name__ == "__main__":
    unittest.main()
