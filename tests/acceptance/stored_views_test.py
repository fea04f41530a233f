"""Agents, an aggregator and show, against analyze of the same files: every view, whole and restricted."""
import json
import os
import time
import unittest

from loopback_test import Aggregator, without_paths
from support import DATA, TempDirTest, needs_traces, run, simulate

KINETO = os.path.join(DATA, "kineto")
REAL = {
    "dlrm": os.path.join(KINETO, "param_dlrm_8rank_v100", "kineto"),
    "nsys": os.path.join(DATA, "nsys", "nsys_ai_fixtures", "mfu_2gpu_before.sqlite"),
    "sampled": os.path.join(KINETO, "hta_sampled_2of128"),
}
WHOLE = ([], ["--instances=all"], ["--ranks", "1"], ["--kernels", "gemm|nvjet|[Aa]ll_?[Rr]educe"], ["--group-by", "family"], ["--group-by", "shape"],
         ["--sort", "instances", "--limit", "3"])
# What is exact on a stored run (interface: "On a stored run"); elsewhere a difference is told in `notices`.
CUT = {
    "steps": ("ranks", "quality", "collectives", "skew", "overlap", "steps", "clock", "stragglers", "run"),
    "time": ("ranks", "quality", "collectives", "skew", "steps", "clock", "stragglers", "run"),
}
KEPT_WHOLE = ("gaps", "gap_ns", "streams")  # of idle: null and empty, told


class StoredViews(TempDirTest):
    def stored(self, name, traces, *flags):
        aggregator = Aggregator(self.path(name + ".db"), *flags)
        self.addCleanup(aggregator.stop)
        done = run("lockstep-agent", "--aggregator", aggregator.address, "--run", "r", "--host", "none", traces)
        self.assertEqual(done.returncode, 0, done.stderr)
        return aggregator

    def both(self, aggregator, traces, restriction):
        arguments = ("--view", "all", "--format", "json", *restriction)
        shown = run("lockstep", "show", "r", "--aggregator", aggregator.address, *arguments)
        analysed = run("lockstep", "analyze", traces, "--run", "r", *arguments)
        self.assertEqual((shown.returncode, analysed.returncode), (0, 0), shown.stderr + analysed.stderr)
        return without_paths(shown.stdout), without_paths(analysed.stdout)

    def check_whole(self, aggregator, traces):
        for restriction in WHOLE:
            with self.subTest(restriction):
                shown, analysed = self.both(aggregator, traces, restriction)
                for view in analysed:
                    self.assertEqual(shown[view], analysed[view], view)

    def check_kept(self, aggregator, traces):
        """What was kept when the summary was asked for, against each view computed alone."""
        whole, _ = self.both(aggregator, traces, [])
        self.assertEqual(run("lockstep", "show", "r", "--aggregator", aggregator.address).returncode, 0)
        for view in set(whole) - {"schema", "notices", "run", "allocation"}:
            with self.subTest(view):
                arguments = ("--view", view, "--format", "json")
                shown = run("lockstep", "show", "r", "--aggregator", aggregator.address, *arguments)
                analysed = run("lockstep", "analyze", traces, "--run", "r", *arguments)
                self.assertEqual(without_paths(shown.stdout), without_paths(analysed.stdout))

    def state(self, aggregator):
        listed = run("lockstep", "runs", "--aggregator", aggregator.address, "--format", "json")
        return json.loads(listed.stdout)["runs"][0]["state"]

    def test_a_complete_run_is_analysed_before_anybody_asks(self):
        traces = simulate(self.path("traces"), "--program", "decode", "--tp", "4", "--steps", "12", "--layers", "4")
        aggregator = self.stored("ahead", traces)
        until = time.monotonic() + 60
        while self.state(aggregator) != "analysed":
            self.assertLess(time.monotonic(), until, "not analysed within a minute")
            time.sleep(0.2)
        shown, analysed = self.both(aggregator, traces, [])
        self.assertEqual(shown, analysed)

    def test_on_demand_a_run_waits_for_a_question(self):
        traces = simulate(self.path("traces"), "--program", "decode", "--tp", "4", "--steps", "12", "--layers", "4")
        aggregator = self.stored("on_demand", traces, "--on-demand")
        time.sleep(5)  # more than twice what an aggregator waits that analyses runs ahead
        self.assertEqual(self.state(aggregator), "complete")
        self.both(aggregator, traces, [])
        self.assertEqual(self.state(aggregator), "analysed")

    def check_cut(self, aggregator, traces, kind, *restriction):
        with self.subTest(restriction):
            shown, analysed = self.both(aggregator, traces, restriction)
            told = {notice["view"] for notice in shown["notices"]}
            differ = {view for view in analysed if shown[view] != analysed[view]} - {"notices", "schema"}
            self.assertEqual(differ & set(CUT[kind]), set())
            self.assertLessEqual(differ, told)
            if kind == "steps":
                def exact(rows):
                    return [{key: value for key, value in row.items() if key not in KEPT_WHOLE} for row in rows]
                self.assertEqual(exact(shown["idle"]), exact(analysed["idle"]))
            for row in shown["tails"]:
                self.assertLessEqual(row["tail_score"], 1)

    def check(self, name, traces, steps, time):
        aggregator = self.stored(name, traces)
        self.check_whole(aggregator, traces)
        self.check_kept(aggregator, traces)
        self.check_cut(aggregator, traces, "steps", "--steps", steps)
        self.check_cut(aggregator, traces, "time", "--time", time)
        self.check_cut(aggregator, traces, "time", "--time", time, "--ranks", "0", "--kernels", "gemm|nvjet")

    @needs_traces
    def test_of_real_traces_is_that_of_their_files(self):
        self.check("dlrm", REAL["dlrm"], "10..10", "4ms..9ms")
        self.check("nsys", REAL["nsys"], "3..7", "50ms..130ms")
        self.check("sampled", REAL["sampled"], "551..551", "200ms..700ms")

    def test_of_simulated_runs_is_that_of_their_files(self):
        for form in ("kineto", "nsys"):
            traces = simulate(self.path(form), "--tp", 4, "--steps", 30, "--layers", 4, "--hosts", 2, "--gpus-per-host", 2, "--format", form,
                              "--seed", 9, "--cause", "late_host:rank=2,us=60,p=0.5")
            self.check(form, traces, "5..20", "2ms..9ms")


if __name__ == "__main__":
    unittest.main()
