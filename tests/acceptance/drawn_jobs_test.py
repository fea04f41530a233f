"""Jobs of kinds that were once answered wrongly, with sizes, ranks and seeds drawn anew: who is named, and what is saved.

LOCKSTEP_RUNS=N draws each kind so many times (default 1; the test of `tests/run --full` draws 12), LOCKSTEP_SEED=S begins at that seed. A job that
fails is made again by `LOCKSTEP_RUNS=1 LOCKSTEP_SEED=S`, and its command is printed.
"""
import json
import os
import random
import shutil
import unittest

from support import TempDirTest, analyze, simulate

RUNS = int(os.environ.get("LOCKSTEP_RUNS", "1"))
SEED = int(os.environ.get("LOCKSTEP_SEED", "1"))
COUNTS = 0.005  # of the step: whoever is told to save as much is accused


def accused(summary):
    """Ranks of those who are told as costing something, or as certain."""
    return [culprit for culprit in summary["culprits"]
            if (culprit["saving_ratio"] or 0) >= COUNTS or (culprit["saving_ratio"] is None and culprit["confidence"] >= 0.8)]


class DrawnJobs(TempDirTest):
    def jobs(self, flags_of):
        """Of each draw its summary, its truth, and the flags as a message."""
        for seed in range(SEED, SEED + RUNS):
            rng = random.Random(f"{self._testMethodName} {seed}")
            flags = [str(flag) for flag in flags_of(rng)] + ["--seed", str(rng.randrange(100_000))]
            folder = simulate(self.path("job"), *flags)
            with open(os.path.join(folder, "truth.json"), encoding="utf-8") as file:
                causes = json.load(file)["causes"]
            summary = analyze(folder)["summary"]
            shutil.rmtree(folder)
            yield summary, causes, " ".join(flags)

    def check_one_cause(self, flags_of, within=0.2):
        for summary, causes, flags in self.jobs(flags_of):
            truth = causes[0]["saving_ratio"]
            guilty = accused(summary)
            self.assertEqual([culprit["ranks"] for culprit in guilty], [causes[0]["origin_ranks"]], flags)
            self.assertAlmostEqual(guilty[0]["saving_ratio"], truth, delta=max(0.005, within * truth), msg=flags)

    def test_a_healthy_pipeline_accuses_no_stage_and_no_rank(self):
        def flags_of(rng):
            pp = rng.choice([2, 3, 4])
            return ["--program", rng.choice(["train", "pipeline"]), "--tp", rng.choice([1, 1, 2]), "--pp", pp, "--dp", rng.choice([1, 1, 2, 4]),
                    "--layers", 4 * pp, "--steps", 30, "--micro-batches", rng.choice([4, 8]), "--format", rng.choice(["kineto", "nsys"]),
                    "--ids", rng.choice(["full", "groups"]), "--noise", "device_spread=0.0005"]
        for summary, _, flags in self.jobs(flags_of):
            self.assertEqual(accused(summary), [], flags)

    def test_a_stall_of_one_rank_of_a_stage_is_its_own(self):
        def flags_of(rng):
            dp = rng.choice([4, 8])
            stall = rng.choice(["data_stall:rank={},p=0.3,ms=60", "periodic_pause:rank={},every=3,ms=60"])
            return ["--program", "train", "--tp", 1, "--pp", 2, "--dp", dp, "--steps", 40, "--layers", 16, "--noise", "device_spread=0.001",
                    "--cause", stall.format(rng.randrange(2 * dp))]
        self.check_one_cause(flags_of)

    def test_a_pause_under_communication_that_queues_is_told_with_all_that_it_costs(self):
        def flags_of(rng):
            tp, dp = rng.choice([1, 2]), rng.choice([2, 4])
            pause = rng.choice(["data_stall:rank={},p=0.3,ms=60", "periodic_pause:rank={},every=4,ms=60"])
            loss = rng.choice([[], ["--defect", "loss:p=0.005"]])
            return ["--program", "train", "--tp", tp, "--dp", dp, "--shard", rng.choice(["none", "full"]), "--steps", 40, "--layers", 16,
                    "--ids", "full", "--noise", "device_spread=0.001", "--cause", pause.format(rng.randrange(tp * dp)), *loss]
        self.check_one_cause(flags_of)

    def test_kernels_that_are_long_now_and_then_are_told_with_all_that_they_cost(self):
        def flags_of(rng):
            program, factor = rng.choice([("prefill", 5), ("prefill", 10), ("decode", 40), ("decode", 80)])
            return ["--program", program, "--tp", 4, "--layers", 6, "--steps", 60, "--noise", "device_spread=0.0005",
                    "--cause", f"kernel_tail:rank={rng.randrange(4)},p=0.05,factor={factor}"]
        self.check_one_cause(flags_of)

    def test_what_happened_in_one_step_is_told_as_once(self):
        def flags_of(rng):
            step, dp = rng.randrange(3, 30), rng.choice([4, 8])
            return ["--program", "train", "--tp", 1, "--dp", dp, "--steps", 40, "--layers", 8, "--noise",
                    f"device_spread={rng.choice([0.001, 0.003])}", "--cause",
                    f"transient:rank={rng.randrange(dp)},from={step},to={step + 1},factor=3"]
        for summary, causes, flags in self.jobs(flags_of):
            named = summary["culprits"][0]
            self.assertEqual((named["ranks"], named["recurrence"]), (causes[0]["origin_ranks"], "once"), flags)

    def test_ranks_that_are_slow_one_after_the_other_are_each_told_with_what_they_cost(self):
        def flags_of(rng):
            program, tp, dp = rng.choice([("decode", 8, 1), ("prefill", 4, 1), ("train", 1, 4), ("train", 1, 8), ("train", 2, 4)])
            steps = rng.choice([40, 60])
            turn = rng.randrange(steps // 3, 2 * steps // 3)
            factors = rng.choice([1.3, 1.5]), rng.choice([1.3, 1.5])
            one, other = rng.sample(range(tp * dp), 2)
            return ["--program", program, "--tp", tp, "--dp", dp, "--steps", steps, "--layers", 8, "--noise", "device_spread=0.0005",
                    "--format", rng.choice(["kineto", "nsys"]), "--cause", f"transient:rank={one},from=0,to={turn},factor={factors[0]}",
                    "--cause", f"transient:rank={other},from={turn},to={steps},factor={factors[1]}"]
        for summary, causes, flags in self.jobs(flags_of):
            named = {tuple(culprit["ranks"]): culprit for culprit in accused(summary)}
            self.assertEqual(set(named), {tuple(cause["origin_ranks"]) for cause in causes}, flags)
            for cause in causes:
                truth = cause["saving_ratio"]
                told = named[tuple(cause["origin_ranks"])]["saving_ratio"]
                self.assertAlmostEqual(told, truth, delta=max(0.005, 0.2 * truth), msg=flags)

    def test_where_large_messages_pass_along_roots_that_are_told_hide_no_waiting(self):
        def flags_of(rng):
            tp, dp = rng.choice([(1, 2), (1, 4), (1, 8), (2, 2), (2, 4), (4, 2)])
            return ["--program", "train", "--tp", tp, "--dp", dp, "--shard", "optimizer", "--steps", 30, "--layers", 8, "--ids", "groups", "--format",
                    rng.choice(["kineto", "nsys"]), "--noise", "device_spread=0.001", "--cause",
                    f"slow_gpu:rank={rng.randrange(tp * dp)},factor={rng.choice([1.1, 1.3, 1.6, 2])}"]
        self.check_one_cause(flags_of)

    def test_the_only_rank_of_a_stage_that_stalls_is_told_no_wrong_saving(self):
        def flags_of(rng):
            return ["--program", "train", "--tp", 1, "--pp", 4, "--dp", 1, "--layers", 16, "--steps", 36, "--ids", rng.choice(["full", "groups"]),
                    "--format", rng.choice(["kineto", "nsys"]), "--noise", "device_spread=0.001",
                    "--cause", f"data_stall:rank={rng.randrange(4)},p={rng.choice([0.3, 0.6])},ms=90"]
        for summary, causes, flags in self.jobs(flags_of):
            truth = causes[0]["saving_ratio"]
            for culprit in summary["culprits"]:
                if culprit["ranks"] == causes[0]["origin_ranks"] and culprit["saving_ratio"] is not None:
                    self.assertAlmostEqual(culprit["saving_ratio"], truth, delta=max(0.005, 0.2 * truth), msg=flags)

    def test_two_that_are_late_together_are_told_with_what_both_cost(self):
        def flags_of(rng):
            dp, factor = rng.choice([4, 8]), rng.choice([1.1, 1.2, 1.3])
            one, other = rng.sample(range(dp), 2)
            return ["--program", "train", "--tp", 1, "--dp", dp, "--steps", 40, "--layers", 8, "--noise", "device_spread=0.0005",
                    "--cause", f"slow_gpu:rank={one},factor={factor}", "--cause", f"slow_gpu:rank={other},factor={factor}"]
        for summary, causes, flags in self.jobs(flags_of):
            factor = causes[0]["cause"]["params"]["factor"] if "cause" in causes[0] else causes[0]["params"]["factor"]
            named = {rank: culprit for culprit in summary["culprits"] for rank in culprit["ranks"]}
            for cause in causes:
                culprit = named.get(cause["origin_ranks"][0])
                self.assertIsNotNone(culprit, flags)
                # Both devices at the peers' speed: at most what their work takes longer.
                self.assertGreater(culprit["saving_after_others_ratio"] or 0, 0.5 * (1 - 1 / factor), flags)
                self.assertLess(culprit["saving_after_others_ratio"], 1 - 1 / factor, flags)


if __name__ == "__main__":
    unittest.main()
