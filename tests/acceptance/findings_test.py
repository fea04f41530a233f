"""Findings: each condition planted in a simulated run raises exactly its finding, with the place; a healthy run none."""
import os
import unittest

from support import TempDirTest, analyze, simulate

SEED = int(os.environ.get("LOCKSTEP_SEED", "1"))
ALIKE = ["--noise", "device_spread=0.001"]  # no device is slow by nature
DECODE = ["--tp", 8, "--steps", 100, "--layers", 16, "--model-scale", 6, *ALIKE]
REPLICAS = ["--tp", 1, "--dp", 8, "--steps", 100, "--layers", 16, "--model-scale", 6, *ALIKE]
TRAIN = ["--program", "train", "--tp", 2, "--dp", 4, "--steps", 40, "--layers", 8, "--model-scale", 3, *ALIKE]

# Finding, program, what is planted, where it must be told to be ("" = anywhere).
PLANTED = [
    ("gpu_idle_host_bound", REPLICAS, ["--cause", "host_bound"], "all ranks"),
    ("launch_bound", REPLICAS, ["--cause", "slow_launch:us=40"], "all ranks"),
    ("small_kernels", DECODE, ["--cause", "small_kernels:split=10"], "elementwise"),
    ("sync_in_step", DECODE, ["--cause", "sync"], "all ranks"),
    ("alloc_hot_path", DECODE, ["--cause", "alloc:us=800"], "all ranks"),
    ("host_copies_in_loop", DECODE, ["--cause", "host_copies"], "all ranks"),
    ("copies_dominate", TRAIN, ["--cause", "big_copies"], "all ranks"),
    ("attention_dominates", DECODE, ["--cause", "long_attention"], ""),
    ("kernel_tail", DECODE, ["--cause", "kernel_tail:p=0.08"], ""),
    ("outliers", DECODE, ["--cause", "outlier"], ""),
    ("exposed_transfer", DECODE, ["--cause", "slow_transfer:factor=8"], "all ranks"),
    ("exposed_wait", DECODE, ["--cause", "jitter"], ""),
    ("prefill_blocks_decode", DECODE, ["--cause", "prefill_mix"], ""),
    ("opaque_graphs", DECODE, ["--graphs", "--defect", "opaque_graphs"], ""),
    ("slow_device", DECODE, ["--cause", "slow_gpu:rank=3,factor=1.06"], "rank 3 on node000"),
    ("persistent_straggler", DECODE, ["--cause", "late_host:rank=5,us=300,p=0.05"], "rank 5 on node000"),
]


class PlantedConditions(TempDirTest):
    def findings(self, name, trace_format, *flags):
        folder = simulate(self.path(name), *flags, "--format", trace_format, "--seed", SEED)
        return analyze(folder, "--view", "findings")["findings"]

    def test_each_raises_exactly_its_finding_and_names_the_place(self):
        for number, (want, program, planted, where) in enumerate(PLANTED):
            trace_format = "nsys" if want == "opaque_graphs" or (number + SEED) % 2 else "kineto"
            with self.subTest(finding=want, format=trace_format):
                found = self.findings(f"{want}", trace_format, *program, *planted)
                self.assertEqual({finding["id"] for finding in found}, {want})
                places = " ".join(evidence["where"] or "" for evidence in found[0]["evidence"])
                self.assertIn(where, places)
                self.assertTrue(found[0]["cause"] and found[0]["next_action"])

    def test_a_healthy_run_raises_none(self):
        for name, flags in (("eager", DECODE), ("graphs", [*DECODE, "--graphs"]), ("train", TRAIN)):
            for trace_format in ("kineto", "nsys"):
                with self.subTest(run=name, format=trace_format):
                    self.assertEqual(self.findings(f"{name}-{trace_format}", trace_format, *flags), [])


if __name__ == "__main__":
    unittest.main()
