"""Sets of files as people have them: answered rightly, or silent about what they cannot tell.

LOCKSTEP_RUNS=N draws so many random sets (default 12; the test of `tests/run --full` draws 100), LOCKSTEP_SEED=S begins at that
seed. A set that fails is made again by `LOCKSTEP_RUNS=1 LOCKSTEP_SEED=S`.
"""
import json
import os
import unittest

import file_sets
from support import DATA, TempDirTest, analyze, needs_traces, run

SETS = int(os.environ.get("LOCKSTEP_RUNS", "12"))
SEED = int(os.environ.get("LOCKSTEP_SEED", "1"))


class RandomSets(TempDirTest):
    def test_no_headline_contradicts_the_truth(self):
        wrong = []
        for seed in range(SEED, SEED + SETS):
            scene = file_sets.draw(self.path(f"set{seed}"), seed)
            why = file_sets.contradiction(scene)
            if why:
                wrong.append(f"seed {seed} (rank {scene.late} of {scene.ranks} is late; {', '.join(scene.changes)}): {why}")
        self.assertEqual(wrong, [], "\n".join(wrong))


# Of each published situation: whom the headline names and how much waiting of how much (ms); None: nobody, with what it must say.
NAMED = {
    "01-sglang-merged": (2, 107, 108), "04-hta-counters": (2, 107, 108), "09-hta-counters-culprit": (0, 107, 108),
    "10-gunzip-k": (0, 107, 108), "13-repeat2": (1, 107, 108), "18-two-attempts": (1, 107, 108),
    "22-hours-apart": (5, 249, 252), "24-mori": (2, 107, 108), "25-trtllm-a2a": (2, 107, 108),
    "32-nsys-v2": (2, 279, 279), "46-broadcast-late-root": (0, 54, 54), "48-broadcast-late-leaf": (3, 54, 54),
    "50-vllm-async-llm": (2, 107, 108), "51-steps-restart": (2, 143, 144), "53-one-process-8gpu-host-late": (5, 619, 630),
}
SILENT = {"12-culprit-missing": "missing_record", "41-half-of-the-hosts": "missing_record", "28-p2p-nometa": "unknown_role"}


@needs_traces
class PublishedSituations(TempDirTest):
    def folder(self, case):
        return os.path.join(DATA, "cases", case)

    def test_who_is_late_is_named_with_what_it_costs(self):
        for case, (rank, caused_ms, total_ms) in NAMED.items():
            with self.subTest(case):
                summary = analyze(self.folder(case))["summary"]
                culprit = summary["culprits"][0]
                self.assertEqual(culprit["ranks"], [rank])
                self.assertAlmostEqual(culprit["caused_wait_total_ns"] / 1e6, caused_ms, delta=max(2, 0.02 * caused_ms))
                self.assertAlmostEqual(summary["wait_total_ns"] / 1e6, total_ms, delta=max(2, 0.02 * total_ms))
                self.assertIsNone(summary["unresolved"] if summary["unresolved"] and summary["unresolved"]["leads"] else None)

    def test_two_cycles_of_a_profiler_are_one_run_without_the_time_between_them(self):
        report = analyze(self.folder("51-steps-restart"), "--view", "summary,steps")
        self.assertEqual(len({row["step"] for row in report["steps"]}), 40)
        summary = report["summary"]
        self.assertEqual(summary["verdict"], "skew")
        self.assertLess(summary["time_share"]["idle_ratio"], 0.1)
        self.assertAlmostEqual(summary["culprits"][0]["saving_ratio"], 0.62, delta=0.06)

    def test_what_cannot_be_told_comes_first_with_its_reason(self):
        for case, reason in SILENT.items():
            with self.subTest(case):
                summary = analyze(self.folder(case))["summary"]
                self.assertEqual(summary["culprits"], [])
                self.assertTrue(summary["unresolved"]["leads"])
                self.assertEqual(summary["unresolved"]["reason"], reason)
                self.assertEqual(summary["verdict"], "inconclusive")
                self.assertEqual(run("lockstep", "analyze", self.folder(case), "--strict").returncode, 3)

    def test_noise_of_broadcasts_accuses_nobody(self):
        summary = analyze(self.folder("29-broadcast-noise"))["summary"]
        self.assertEqual(summary["culprits"], [])
        self.assertEqual(summary["wait_total_ns"], 0)

    def test_who_moves_more_is_told_so_and_a_host_has_one_clock(self):
        report = analyze(self.folder("40-uneven-a2a"), "--view", "summary,quality")
        self.assertTrue(all(c["ranks"] == [1] and c["cause"] == "more_data" for c in report["summary"]["culprits"]))
        gates = {gate["name"]: gate["ok"] for gate in report["quality"]["gates"]}
        self.assertTrue(gates["host_identity"])

    def test_several_runs_are_refused_in_few_words(self):
        for case, runs in (("06-vllm-dp-tp", 2), ("20-four-independent", 4)):
            with self.subTest(case):
                done = run("lockstep", "analyze", self.folder(case))
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"these files are {runs} different runs", done.stderr)
                self.assertLess(len(done.stderr), 2_500)


class ManyFiles(TempDirTest):
    def test_a_refusal_of_many_files_stays_short(self):
        scene = file_sets.Scene(self.path("one"), 1)
        trace = file_sets.load(scene.path(0))
        trace["traceEvents"] = [event for event in trace["traceEvents"] if event.get("cat") == "kernel"][:4]
        trace["distributedInfo"] = {"rank": 0, "world_size": 1}
        os.mkdir(self.path("many"))
        text = json.dumps(trace)
        for number in range(600):
            with open(self.path(f"many/job{number}_500.pt.trace.json"), "w") as file:
                file.write(text.replace('"dur": ', f'"dur": {number + 1}', 1))
        done = run("lockstep", "analyze", self.path("many"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("600 different runs", done.stderr)
        self.assertLess(len(done.stderr), 4_096)


if __name__ == "__main__":
    unittest.main()
