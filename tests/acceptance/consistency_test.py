"""One truth on one screen: no two numbers of an answer contradict each other, and no sentence contradicts a number.

The laws are in consistency_of_numbers and consistency_of_words; each is a claim about one answer that a reader could check by eye.
They are asked of simulated runs that nobody chose and, where ../shared is, of the published situations and the real traces.
LOCKSTEP_RUNS=N draws so many runs (default 8; the test of `tests/run --full` draws 100 and reads all real traces), LOCKSTEP_SEED=S
begins at that seed. A run that fails is made again by `LOCKSTEP_RUNS=1 LOCKSTEP_SEED=S`.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import consistency_of_numbers
import consistency_of_words
import random_runs
from one_answer import Answer
from support import DATA, ROOT, analyze, run

RUNS = int(os.environ.get("LOCKSTEP_RUNS", "8"))
SEED = int(os.environ.get("LOCKSTEP_SEED", "1"))
ALL_TRACES = RUNS >= 100


def simulated():
    print(f"seeds {SEED}..{SEED + RUNS - 1}")
    folder = tempfile.mkdtemp(prefix="lockstep-acceptance-")
    try:
        for seed in range(SEED, SEED + RUNS):
            flags = random_runs.draw(seed)
            done = run("lockstep-simulate", *flags, "--out", os.path.join(folder, "run"))
            assert done.returncode == 0, f"seed {seed}: {done.stderr}"
            yield Answer(f"seed {seed} ({' '.join(map(str, flags))})", os.path.join(folder, "run"))
            shutil.rmtree(os.path.join(folder, "run"))
    finally:
        shutil.rmtree(folder)


def published():
    """The folders of situations, and single files of real traces: each is a question of its own."""
    found = [os.path.join(DATA, "kineto", "param_dlrm_8rank_v100", "kineto")] + sorted(glob.glob(os.path.join(DATA, "cases", "*", "")))
    if ALL_TRACES:
        found += sorted(glob.glob(os.path.join(DATA, "cases_right", "*", "")))
        found.append(os.path.join(DATA, "kineto", "hta_sampled_2of128"))
        for pattern in ("kineto/single_rank_*/*.json*", "kineto/oldest*/*.json*", "nsys/*/*.sqlite"):
            found += sorted(glob.glob(os.path.join(DATA, *pattern.split("/"))))
    for path in found:
        answer = Answer(os.path.relpath(path, DATA), path)
        if not answer.refused:
            yield answer
    if ALL_TRACES:
        yield from timelines()


def timelines():
    """Two training jobs of the ByteDance straggler study, of 8 and 128 devices."""
    folder = tempfile.mkdtemp(prefix="lockstep-acceptance-")
    try:
        for job, replicas, stages in (("ST", 2, 4), ("SE", 32, 2)):
            source = os.path.join(DATA, "timelines_bytedance", f"timeline-{job}.json.gz")
            out = os.path.join(folder, job)
            subprocess.run([sys.executable, os.path.join(ROOT, "bench", "accuracy", "timelines_to_kineto.py"), source, out, "--dp",
                            str(replicas), "--pp", str(stages)], check=True)
            yield Answer(f"timelines_bytedance/{job}", out)
    finally:
        shutil.rmtree(folder)


class OneTruth(unittest.TestCase):
    def check(self, answers):
        """Reports all that is broken, law by law."""
        broken, asked = {}, 0
        for answer in answers:
            asked += 1
            for law in consistency_of_numbers.LAWS + consistency_of_words.LAWS:
                broken.setdefault(law.__name__, []).extend(f"{answer.name}: {why}" for why in law(answer))
        self.assertGreater(asked, 0)
        for law, cases in broken.items():
            with self.subTest(law=law):
                self.assertEqual(cases, [], "\n" + "\n".join(cases))

    def test_no_two_numbers_of_a_simulated_run_contradict_each_other(self):
        self.check(simulated())

    @unittest.skipUnless(os.path.isdir(DATA), "SKIPPED LOUDLY: the real traces at ../shared/data are absent")
    def test_no_two_numbers_of_a_real_trace_contradict_each_other(self):
        self.check(published())


class OneViewAlone(unittest.TestCase):
    def test_says_what_it_says_among_all_of_them(self):
        folder = tempfile.mkdtemp(prefix="lockstep-acceptance-")
        self.addCleanup(shutil.rmtree, folder)
        for seed in (SEED, SEED + 1):
            path = os.path.join(folder, str(seed))
            self.assertEqual(run("lockstep-simulate", *random_runs.draw(seed), "--out", path).returncode, 0)
            everything = analyze(path, "--view", "all")
            for view in ("summary", "skew", "overlap", "imbalance", "tails", "stragglers", "findings", "quality", "steps"):
                with self.subTest(view=view, seed=seed):
                    self.assertEqual(analyze(path, "--view", view)[view], everything[view])


class TheLawsCanFail(unittest.TestCase):
    """A law that holds for a contradiction made by hand would hold for anything."""

    def broken_by(self, change):
        folder = tempfile.mkdtemp(prefix="lockstep-acceptance-")
        self.addCleanup(shutil.rmtree, folder)
        done = run("lockstep-simulate", "--program", "train", "--tp", 2, "--dp", 2, "--layers", 2, "--steps", 20, "--cause",
                   "slow_gpu:rank=1,factor=1.3", "--out", os.path.join(folder, "run"))
        assert done.returncode == 0, done.stderr
        answer = Answer("by hand", os.path.join(folder, "run"))
        self.assertEqual(self.broken(answer), set())
        change(answer)
        return self.broken(answer)

    @staticmethod
    def broken(answer):
        laws = consistency_of_numbers.LAWS + consistency_of_words.LAWS
        return {law.__name__ for law in laws if any(True for _ in law(answer))}

    def test_another_total_of_waiting_is_seen(self):
        def change(answer):
            answer.summary["wait_total_ns"] *= 2
        broken = self.broken_by(change)
        self.assertIn("there_is_one_total_of_all_waiting", broken)
        self.assertIn("a_culprit_causes_a_part_of_the_waiting", broken)

    def test_nobody_beside_a_straggler_is_seen(self):
        def change(answer):
            answer.culprits.clear()
            answer.headline[:] = ["Nobody in particular makes the others wait: 5 ms of waiting, spread over the ranks."]
        broken = self.broken_by(change)
        self.assertIn("not_enough_data_is_not_worded_as_nobody", broken)
        self.assertIn("culprits_and_stragglers_agree", broken)
        self.assertIn("findings_accuse_whom_the_headline_names", broken)

    def test_none_found_beside_a_name_is_seen(self):
        def change(answer):
            answer.view("stragglers").clear()
            answer.sections["stragglers"] = "stragglers\n  (none found)\n"
        self.assertIn("stragglers_say_none_only_where_nobody_is_named", self.broken_by(change))

    def test_another_share_in_the_block_is_seen(self):
        def change(answer):
            share = answer.summary["time_share"]
            share["compute_ratio"], share["idle_ratio"] = share["idle_ratio"], share["compute_ratio"]
        broken = self.broken_by(change)
        self.assertIn("the_block_is_the_document_in_percent", broken)
        self.assertIn("the_block_is_overlap_where_the_window_is_the_whole", broken)


if __name__ == "__main__":
    unittest.main()
