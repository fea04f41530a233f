"""`lockstep baseline`: a name for the run that later ones are compared with, in a store and on an aggregator."""
import json
import os

from compare_test import SMALL, Comparing, compare
from support import run, simulate


class Baselines(Comparing):
    def setUp(self):
        super().setUp()
        self.store = self.path("runs.db")
        for name, seed in (("monday", 1), ("tuesday", 2)):
            traces = simulate(self.path(name), *SMALL, "--seed", seed)
            done = run("lockstep", "analyze", traces, "--store", self.store, "--run", name)
            self.assertEqual(done.returncode, 0, done.stderr)

    def baseline(self, *args, code=0):
        done = run("lockstep", "baseline", *args, "--store", self.store)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def listed(self):
        return json.loads(self.baseline("list", "--format", "json").stdout)["baselines"]

    def test_a_run_is_compared_with_its_baseline_as_compare_does(self):
        self.baseline("set", "main", "monday")
        done = self.baseline("compare", "tuesday", "--format", "json", "--gate", "step_time<=50%")
        self.assertIn("baseline 'main', run 'monday'", done.stderr)
        self.assertEqual(json.loads(done.stdout),
                         compare("monday", "tuesday", "--store", self.store, "--gate", "step_time<=50%"))

    def test_traces_on_disk_are_compared_with_a_stored_baseline(self):
        self.baseline("set", "main", "monday")
        traces = simulate(self.path("new"), *SMALL, "--seed", 3, "--model-scale", 2)
        done = self.baseline("compare", os.path.join(traces, ""), "--gate", "step_time<=2%", code=4)
        self.assertIn("\nSlower by ", done.stdout)

    def test_a_name_moves_to_another_run_and_can_be_removed(self):
        self.assertEqual(self.baseline("list").stdout, "no baselines\n")
        self.baseline("set", "main", "monday")
        self.baseline("set", "h100", "monday")
        self.baseline("set", "main", "tuesday")
        self.assertEqual(self.listed(), [{"name": "h100", "run": "monday"}, {"name": "main", "run": "tuesday"}])
        self.assertIn("main      tuesday", self.baseline("list").stdout)
        self.baseline("remove", "main")
        self.assertEqual(self.listed(), [{"name": "h100", "run": "monday"}])
        self.assertIn("no baseline 'main'", self.baseline("remove", "main", code=2).stderr)

    def test_it_is_said_which_baseline_is_missing_or_meant(self):
        self.assertIn("baseline set NAME RUN", self.baseline("compare", "tuesday", code=2).stderr)
        self.assertIn("no run 'sunday'", self.baseline("set", "main", "sunday", code=2).stderr)
        self.baseline("set", "main", "monday")
        self.baseline("set", "h100", "tuesday")
        self.assertIn("'h100', 'main': choose one with --name", self.baseline("compare", "tuesday", code=1).stderr)
        self.assertIn("the baselines are 'h100', 'main'", self.baseline("compare", "tuesday", "--name", "x", code=2).stderr)
        self.baseline("compare", "tuesday", "--name", "main")
        self.baseline("set", "a\nb", "monday", code=1)

    def test_a_baseline_is_not_pruned(self):
        self.baseline("set", "main", "monday")
        done = run("lockstep", "runs", "--store", self.store, "--prune", "--keep-bytes", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the baseline main", done.stdout)
        runs = json.loads(run("lockstep", "runs", "--store", self.store, "--format", "json").stdout)["runs"]
        self.assertEqual([(entry["name"], entry["baselines"]) for entry in runs], [("monday", ["main"])])

    def test_help_and_errors_name_the_verb_of_the_verb(self):
        done = run("lockstep", "baseline")
        self.assertEqual(done.returncode, 1)
        self.assertIn("a verb is required: set, list, compare, remove; see `lockstep baseline --help`", done.stderr)
        done = run("lockstep", "baseline", "set", "main")
        self.assertEqual(done.returncode, 1)
        self.assertIn("see `lockstep baseline set --help`", done.stderr)
        self.assertIn("Usage: lockstep baseline compare", run("lockstep", "baseline", "compare", "--help").stdout)


if __name__ == "__main__":
    import unittest

    unittest.main()
