"""bench/compare as a person runs it, on results that no benchmark ever gave."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def row(held=True, **compared):
    return {"figure": "f", "limit": "", "ratio": 1, "budget": "b", "held": held, "raw": {"secret": 1},
            "compared": {key: {"value": value, "better": better, "kind": kind} for key, (value, better, kind) in compared.items()}}


def result(machine="m", quick=False, **figures):
    return {"schema": "lockstep.bench/1", "machine": machine, "quick": quick, "figures": figures}


class Compare(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="lockstep-compare-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.files = 0

    def write(self, content):
        self.files += 1
        path = os.path.join(self.dir, f"{self.files}.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def run_it(self, *args):
        return subprocess.run([os.path.join(ROOT, "bench", "compare"), *args], capture_output=True, text=True, check=False)

    def compare(self, baseline, *results, more=()):
        """Exit code, and the verdict of each line."""
        done = self.run_it("--baseline", self.write(baseline), *more, *(self.write(one) for one in results))
        self.assertEqual(done.stderr if done.returncode < 2 else "", "")
        return done.returncode, {line.split()[0]: line for line in done.stdout.splitlines()[1:]}

    def verdict_of(self, value, kind, better, **more):
        code, lines = self.compare(result(x=row(v=(100, better, kind))), result(x=row(v=(value, better, kind)), **more))
        return code, lines["x.v"].split()[-1]

    def test_a_value_within_its_noise_is_the_same(self):
        for kind, near in (("ratio", 108), ("time", 113), ("memory", 104), ("bytes", 100.4)):
            with self.subTest(kind):
                self.assertEqual(self.verdict_of(near, kind, "less"), (0, "same"))
                self.assertEqual(self.verdict_of(200 - near, kind, "more"), (0, "same"))

    def test_a_value_beyond_its_noise_is_worse_or_better_by_its_own_direction(self):
        for kind in ("ratio", "time", "memory", "bytes"):
            with self.subTest(kind):
                self.assertEqual(self.verdict_of(120, kind, "less"), (1, "WORSE"))
                self.assertEqual(self.verdict_of(120, kind, "more"), (0, "better"))
                self.assertEqual(self.verdict_of(80, kind, "less"), (0, "better"))
                self.assertEqual(self.verdict_of(80, kind, "more"), (1, "WORSE"))

    def test_a_value_that_was_nothing_may_not_become_something(self):
        nothing = result(x=row(v=(0, "less", "bytes")))
        self.assertEqual(self.compare(nothing, nothing)[0], 0)
        self.assertEqual(self.compare(nothing, result(x=row(v=(1, "less", "bytes"))))[0], 1)

    def test_the_change_is_told_in_per_cent(self):
        _, lines = self.compare(result(x=row(v=(2, "less", "time"))), result(x=row(v=(2.5, "less", "time"))))
        self.assertEqual(lines["x.v"].split(), ["x.v", "2", "2.5", "+25.0%", "15.0%", "WORSE"])

    def test_what_is_no_longer_held_counts_within_noise_too(self):
        code, lines = self.compare(result(x=row(v=(1, "less", "time"))), result(x=row(False, v=(1.01, "less", "time"))))
        self.assertEqual(code, 1)
        self.assertIn("NO LONGER HELD", lines["x"])
        never = result(x=row(False, v=(1, "less", "time")))
        self.assertEqual(self.compare(never, never)[0], 0)

    def test_what_is_no_longer_measured_counts_unless_left_out(self):
        both = result(x=row(v=(1, "less", "time")), y=row(v=(1, "less", "time")))
        one = result(x=row(v=(1, "less", "time")))
        self.assertEqual(self.compare(both, one)[0], 1)
        self.assertEqual(self.compare(both, result(x=both["figures"]["x"], y=None))[0], 1)
        self.assertEqual(self.compare(both, one, more=("--only", "x"))[0], 0)
        self.assertEqual(self.compare(one, both)[0], 0)
        self.assertEqual(self.compare(result(x=row(v=(1, "less", "time"), w=(1, "less", "memory"))), one)[0], 1)

    def test_times_of_another_machine_are_not_compared_and_ratios_are(self):
        self.assertEqual(self.verdict_of(300, "time", "less", machine="other"), (0, "machine"))
        self.assertEqual(self.verdict_of(300, "ratio", "less", machine="other"), (1, "WORSE"))

    def test_of_several_results_the_medians_count(self):
        def of(value, held=True):
            return result(x=row(held, v=(value, "less", "time")))
        self.assertEqual(self.compare(of(100), of(90), of(500, False), of(110))[0], 0)
        self.assertEqual(self.compare(of(100), of(90), of(500, False), of(510, False))[0], 1)

    def test_the_noise_can_be_said(self):
        before, after = result(x=row(v=(100, "less", "time"))), result(x=row(v=(130, "less", "time")))
        self.assertEqual(self.compare(before, after, more=("--noise", "time=40"))[0], 0)
        self.assertEqual(self.compare(before, after, more=("--noise", "memory=40"))[0], 1)

    def test_a_stored_baseline_is_the_median_and_compares_as_the_same(self):
        baseline = os.path.join(self.dir, "stored.json")
        runs = [self.write(result(x=row(v=(value, "less", "time")), absent=None)) for value in (1, 2, 9)]
        self.assertEqual(self.run_it("--store", "--baseline", baseline, *runs).returncode, 0)
        with open(baseline, encoding="utf-8") as file:
            stored = json.load(file)
        self.assertEqual(stored["figures"]["x"]["compared"]["v"]["value"], 2)
        self.assertNotIn("raw", stored["figures"]["x"])
        self.assertEqual(self.run_it("--baseline", baseline, *runs).returncode, 0)

    def test_what_cannot_be_compared_is_told(self):
        good = result(x=row(v=(1, "less", "time")))
        for baseline, now, more in ((good, result(quick=True), ()), (good, "no json", ()), ("{}", good, ()), ("[]", good, ()),
                                    (good, good, ("--only", "nothing")), (good, good, ("--noise", "time=much")),
                                    (good, good, ("--noise", "weather=3"))):
            with self.subTest(now=now, more=more):
                done = self.run_it("--baseline", self.write(baseline), *more, self.write(now))
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertTrue(done.stderr.startswith("bench/compare: "), done.stderr)
        self.assertEqual(self.run_it("--baseline", "/nowhere/at/all", self.write(good)).returncode, 2)


if __name__ == "__main__":
    unittest.main()
