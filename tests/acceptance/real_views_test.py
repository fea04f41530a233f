"""Every view of the real traces reads sensibly: kernels in families, steps and phases found, parts that sum to wholes, and
a reason wherever there is nothing to show."""
import os
import unittest

from support import DATA, analyze, needs_traces, run

KINETO = os.path.join(DATA, "kineto")
TRACELENS = os.path.join(KINETO, "single_rank_tracelens")
HTA = os.path.join(KINETO, "single_rank_hta")
NSYS = os.path.join(DATA, "nsys", "nsys_ai_fixtures")
# Path, steps of each rank, where they come from, the phases that the trace itself tells.
TRACES = {
    "b200 vllm": (os.path.join(TRACELENS, "b200_tp8_rank0of8_vllm_eager.json.gz"), 1, "execute_context", {"prefill"}),
    "sglang decode": (os.path.join(TRACELENS, "sglang_Qwen3-8B_decode.json.gz"), 1, "execute_32_context_0", {"decode"}),
    "vllm decode graph": (os.path.join(TRACELENS, "vllm_decode_graph_execution.json.gz"), 1, "execute_32_context_0", {"decode"}),
    "vllm piecewise graph": (os.path.join(TRACELENS, "vllm_piecewise_graph_execution.json.gz"), 1, "execute_8192_context_9", {"mixed"}),
    "h100": (os.path.join(TRACELENS, "h100_qwen0.5b.json.gz"), 1, "ProfilerStep", None),
    "mi300": (os.path.join(TRACELENS, "mi300_train_resnet18.json.gz"), 4, "detected", None),
    "dlrm": (os.path.join(KINETO, "param_dlrm_8rank_v100", "kineto"), 1, "ProfilerStep", None),
    "nccl data": (os.path.join(HTA, "nccl_parser_config_nccl_data.json.gz"), 3, "ProfilerStep", None),
    "trace diff": (os.path.join(HTA, "trace_diff_control_control.json.gz"), 6, "ProfilerStep", None),
    "h100 nsys": (os.path.join(NSYS, "h100_2gpu_1s.sqlite"), 26, "detected", None),
    "mfu nsys": (os.path.join(NSYS, "mfu_2gpu_before.sqlite"), 16, "detected", None),
}
LISTS = ("ranks", "kernels", "families", "collectives", "overlap", "tails", "idle", "host", "launches", "nvtx", "memory", "steps",
         "stragglers", "findings")
EXPOSED = ("exposed_wait_ns", "exposed_transfer_ns", "exposed_unresolved_ns")


@needs_traces
class EveryView(unittest.TestCase):
    reports = {}

    def each(self):
        for name, (path, *_) in TRACES.items():
            if name not in self.reports:
                self.reports[name] = analyze(path, "--view", "all")
            yield name, self.reports[name]

    def test_kernels_are_in_families(self):
        for name, report in self.each():
            families = {row["family"]: row["share_ratio"] for row in report["families"]}
            self.assertLess(families.get("other", 0), 0.05, name)
            self.assertLess(families.get("other", 0) + families.get("triton", 0), 0.05, name)
            self.assertAlmostEqual(sum(families.values()), 1, places=6, msg=name)

    def test_steps_and_phases_are_found(self):
        for name, report in self.each():
            _, count, source, phases = TRACES[name]
            for rank in report["ranks"]:
                self.assertEqual(rank["steps"]["count"], count, name)
                self.assertIn(source, rank["steps"]["source"], name)
            self.assertEqual(len(report["steps"]), count * len(report["ranks"]), name)
            if phases is not None:
                self.assertEqual({row["phase"] for row in report["steps"]}, phases, name)

    def test_the_parts_of_each_rank_sum_to_its_span(self):
        for name, report in self.each():
            self.assertAlmostEqual(sum(report["summary"]["time_share"].values()), 1, places=6, msg=name)
            idle = {row["rank"]: row for row in report["idle"]}
            for row in report["overlap"]:
                self.assertEqual(sum(row[k] for k in EXPOSED), row["exposed_comm_ns"], name)
                whole = row["compute_ns"] + row["exposed_comm_ns"] + row["copy_only_ns"] + row["opaque_only_ns"] + row["idle_ns"]
                self.assertEqual(whole, row["span_ns"], name)
                parts = idle[row["rank"]]
                self.assertEqual(parts["idle_ns"], row["idle_ns"], name)
                self.assertEqual(sum(parts[k] for k in ("host_ns", "launch_ns", "dependency_ns", "other_ns")), parts["idle_ns"], name)
                if parts["gaps"]:
                    self.assertAlmostEqual(parts["gaps"] * parts["gap_ns"]["mean"] / parts["idle_ns"], 1, places=6, msg=name)

    def test_the_parts_of_each_step_sum_to_its_span(self):
        for name, report in self.each():
            for row in report["steps"]:
                self.assertEqual(sum(row[k] for k in EXPOSED), row["exposed_comm_ns"], name)
                whole = row["compute_ns"] + row["exposed_comm_ns"] + row["copy_only_ns"] + row["opaque_only_ns"] + row["idle_ns"]
                self.assertEqual(whole, row["span_ns"], name)
                self.assertEqual(sum(row["idle"].values()), row["idle_ns"], name)

    def test_kernels_families_and_ranks_agree(self):
        for name, report in self.each():
            ran = sum(rank["kernels"] for rank in report["ranks"])
            self.assertEqual(sum(row["instances"] for row in report["kernels"]), ran, name)
            self.assertEqual(sum(row["instances"] for row in report["families"]), ran, name)
            self.assertEqual(sum(row["total_ns"] for row in report["kernels"]), sum(row["total_ns"] for row in report["families"]), name)
            self.assertAlmostEqual(sum(row["share_ratio"] for row in report["kernels"]), 1, places=5, msg=name)
            self.assertEqual(sum(row["operations"] for row in report["memory"]), sum(rank["copies"] for rank in report["ranks"]), name)
            self.assertEqual(sum(row["instances"] for row in report["collectives"] if not row["matched"]) +
                             sum(row["matched"] * len(row["members"]) for row in report["collectives"] if row["matched"]),
                             sum(rank["collectives"] for rank in report["ranks"]), name)
            for row in report["kernels"]:
                self.assertEqual(sum(rank["total_ns"] for rank in row["by_rank"]), row["total_ns"], name)
                self.assertEqual(sum(rank["instances"] for rank in row["by_rank"]), row["instances"], name)
            totals = [row["total_ns"] for row in report["kernels"]]
            self.assertEqual(totals, sorted(totals, reverse=True), name)
            self.assertLessEqual(sum(row["count"] for row in report["launches"]), ran, name)

    def test_shares_are_shares(self):
        for name, report in self.each():
            for rank in report["pace"]["ranks"]:
                for key in ("compute_ratio", "comm_ratio", "busy_ratio"):
                    self.assertTrue(all(0 <= value <= 1 for value in rank[key]), (name, key))
                self.assertTrue(all(busy >= max(c, m) - 1e-9 for busy, c, m in zip(rank["busy_ratio"], rank["compute_ratio"], rank["comm_ratio"])), name)
            for row in report["host"]:
                self.assertAlmostEqual(row["calls"] * row["duration_ns"]["mean"], row["total_ns"], delta=1e-6 * row["total_ns"], msg=name)

    def test_a_run_of_one_file_has_its_stem_for_a_name(self):
        names = {name: report["run"]["name"] for name, report in self.each()}
        self.assertEqual(names["h100"], "h100_qwen0.5b")
        self.assertEqual(names["mfu nsys"], "mfu_2gpu_before")
        self.assertEqual(names["dlrm"], "kineto")

    def test_what_is_empty_says_why(self):
        for name, report in self.each():
            told = {notice["view"] for notice in report["notices"]}
            for view in LISTS:
                if not report[view] and view not in ("findings", "collectives", "tails"):
                    self.assertIn(view, told, name)

    def test_devices_that_mostly_copy_are_not_said_to_compute(self):
        done = run("lockstep", "analyze", TRACES["h100 nsys"][0])
        self.assertIn("The GPUs mostly copy: ", done.stdout)
        self.assertIn("--view memory: which copies take the time", done.stdout)
        self.assertNotIn("faster kernels help", done.stdout)

    def test_ranks_that_wait_are_not_said_not_to(self):
        # Detected steps are numbered by each rank alone: no collective lies in them.
        done = run("lockstep", "analyze", TRACES["mfu nsys"][0], "--steps", "3..5")
        self.assertIn("waiting for a later rank", done.stdout)
        self.assertNotIn("Nobody waits", done.stdout)
        self.assertIn("For whom cannot be told", done.stdout)

    def test_what_would_save_most_of_the_time_is_not_minor(self):
        for name, report in self.each():
            for finding in report["findings"]:
                if finding["id"] == "small_kernels" and finding["saving_ratio"] > 0.4:
                    self.assertEqual(finding["severity"], "major", name)

    def test_the_text_fits_a_terminal(self):
        for name, (path, *_) in TRACES.items():
            done = run("lockstep", "analyze", path, "--view", "all")
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = done.stdout.split("\n")
            self.assertGreater(len(lines), 100, name)
            self.assertEqual([line for line in lines if len(line) > 100], [], name)
            for word in ("nan", "null", "inf ", "-1 ns", "9223372036854775807"):
                self.assertNotIn(f" {word}", done.stdout, name)


if __name__ == "__main__":
    unittest.main()
