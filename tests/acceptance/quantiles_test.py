"""Durations of kernels over 64 ranks, by any grouping: every quantile interval contains the exact one.

The oracle reads the simulated files by itself and sorts the raw durations. LOCKSTEP_SEED chooses the run.
"""
import gzip
import json
import math
import os
import random
import sqlite3
import statistics
import unittest
from collections import defaultdict

from support import TempDirTest, analyze, run, simulate

SEED = int(os.environ.get("LOCKSTEP_SEED", "5"))
LEVELS = {"p50": (1, 2), "p90": (9, 10), "p95": (19, 20), "p99": (99, 100), "p999": (999, 1000)}
MAX_DISTINCT = 1024
RANKS = 64


def kineto_kernels(path, rank):
    with gzip.open(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    for event in events:
        if event.get("cat") == "kernel":
            args = event["args"]
            yield rank, event["name"], None, (*args["grid"], *args["block"]), round(event["dur"] * 1000)


def nsys_kernels(path, first_rank):
    db = sqlite3.connect(path)
    query = """SELECT deviceId, d.value, m.value, gridX, gridY, gridZ, blockX, blockY, blockZ, end - start
               FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds d ON d.id = k.demangledName
               LEFT JOIN StringIds m ON m.id = k.mangledName"""
    for device, name, mangled, *numbers in db.execute(query):
        yield first_rank + device, name, mangled, tuple(numbers[:6]), numbers[6]
    db.close()


def read_kernels(folder):
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.endswith(".sqlite"):
            yield from nsys_kernels(path, int(name[len("rank"):].split("-")[0].split(".")[0]))
        elif name.startswith("rank"):
            yield from kineto_kernels(path, int(name[len("rank"):].split(".")[0]))


def base_name(name):
    """Without return type, template arguments, arguments and namespaces."""
    name = name.replace("(anonymous namespace)::", "")
    for end in "<(":
        name = name.split(end)[0]
    return name.split(" ")[-1].split("::")[-1]


class Oracle:
    """pQ is the order statistic of rank ceil(Qn), without interpolation, null when n < 1 / (1 - Q)."""

    def __init__(self, values):
        self.values = sorted(values)

    def level(self, name):
        part, whole = LEVELS[name]
        n = len(self.values)
        if n * (whole - part) < whole:
            return None
        return self.values[-(-n * part // whole) - 1]


class Quantiles(TempDirTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.maxDiff = 2000

    def setUp(self):
        super().setUp()
        draw = random.Random(SEED)
        causes = ["jitter:sigma=0.2", f"kernel_tail:p={draw.choice([0.01, 0.03])},factor=6",
                  f"slow_gpu:rank={draw.randrange(RANKS)},factor=1.4"]
        self.folder = simulate(self.path("run"), "--program", "batching", "--tp", 8, "--dp", 8, "--hosts", 8,
                               "--gpus-per-host", 8, "--layers", 3, "--steps", 12, "--model-scale", 9, "--seed", SEED,
                               "--format", "mixed", *(word for cause in causes for word in ("--cause", cause)))
        self.kernels = list(read_kernels(self.folder))
        self.store = self.path("runs.db")
        done = run("lockstep", "analyze", self.folder, "--store", self.store, "--run", "r")
        self.assertEqual(done.returncode, 0, done.stderr)

    def show(self, *args):
        done = run("lockstep", "show", "r", "--store", self.store, "--format", "json", *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check_level(self, name, pct, oracle, place):
        exact = oracle.level(name)
        if exact is None:
            self.assertIsNone(pct[name], place)
            self.assertNotIn(name, pct.get("bounds", {}), place)
            return
        lower, upper = pct.get("bounds", {}).get(name, (pct[name], pct[name]))
        self.assertLessEqual(lower, exact, (place, name))
        self.assertLessEqual(exact, upper, (place, name))
        self.assertLessEqual(abs(pct[name] - exact), 0.0055 * exact + 1, (place, name))

    def check_pct(self, pct, values, place):
        oracle = Oracle(values)
        for name in LEVELS:
            self.check_level(name, pct, oracle, place)
        exact = len(set(values)) <= MAX_DISTINCT
        self.assertEqual("bounds" not in pct, exact, place)
        self.assertEqual((pct["min"], pct["max"], pct["count"]), (min(values), max(values), len(values)), place)
        self.assertTrue(math.isclose(pct["mean"], statistics.fmean(values), rel_tol=1e-8), place)
        spread = statistics.stdev(values) if len(values) > 1 else 0
        self.assertTrue(math.isclose(pct["stddev"], spread, rel_tol=1e-7, abs_tol=1e-6), (place, pct["stddev"], spread))
        if "median" in pct:
            self.assertEqual(pct["median"], statistics.median(values) if exact else None, place)
        return exact

    def check_row(self, row, by_rank, place):
        """One row of the kernels view against the raw durations by rank. True if the sketch was exact."""
        values = [value for rank in by_rank.values() for value in rank]
        self.assertIn("median", row["duration_ns"])
        exact = self.check_pct(row["duration_ns"], values, place)
        self.assertEqual((row["instances"], row["total_ns"]), (len(values), sum(values)), place)
        self.check_flags(row, Oracle(values), place)
        self.assertEqual([r["rank"] for r in row["by_rank"]], sorted(by_rank), place)
        for rank in row["by_rank"]:
            own = Oracle(by_rank[rank["rank"]])
            self.assertEqual((rank["instances"], rank["total_ns"], rank["min_ns"], rank["max_ns"]),
                             (len(own.values), sum(own.values), own.values[0], own.values[-1]), place)
            spread = statistics.stdev(own.values) if len(own.values) > 1 else 0
            self.assertTrue(math.isclose(rank["stddev_ns"], spread, rel_tol=1e-7, abs_tol=1e-6), place)
            for level in ("p50", "p99"):
                want = own.level(level)
                if want is None or rank[level + "_ns"] is None:
                    self.assertEqual(rank[level + "_ns"], want, place)
                else:
                    self.assertLessEqual(abs(rank[level + "_ns"] - want), 0.0055 * want + 1, place)
        return exact

    def check_flags(self, row, oracle, place):
        p50, p99, longest = oracle.level("p50"), oracle.level("p99"), oracle.values[-1]
        for key, value, level, flag in (("p99_over_p50_ratio", p99, 1.5, "systematic"),
                                        ("max_over_p50_ratio", longest, 2, "outliers")):
            if not p50 or value is None:
                self.assertIsNone(row[key], place)
                continue
            self.assertTrue(math.isclose(row[key], value / p50, rel_tol=0.011), (place, key))
            if not math.isclose(value / p50, level, rel_tol=0.011):
                self.assertEqual(flag in row["tail_flags"], value / p50 > level, place)
        self.assertEqual(row["slowest_rank"] is None, False, place)

    def check_view(self, rows, key_of, ranks=range(RANKS), place=""):
        groups = defaultdict(lambda: defaultdict(list))
        for kernel in self.kernels:
            if kernel[0] in ranks:
                groups[key_of(kernel)][kernel[0]].append(kernel[4])
        self.assertEqual({row["name"] for row in rows}, set(groups), place)
        total = sum(kernel[4] for kernel in self.kernels if kernel[0] in ranks)
        exact = 0
        for row in rows:
            exact += self.check_row(row, groups[row["name"]], (place, row["name"][:60]))
            self.assertAlmostEqual(row["share_ratio"], row["total_ns"] / total, places=7)
        return exact, len(rows) - exact

    def check_groupings(self):
        full = self.show("--view", "kernels")["kernels"]
        self.assertEqual(sum(len(row["by_rank"]) for row in full) // len(full), RANKS)
        told = {row["name"]: row for row in full}
        keys = {"full": lambda k: k[1], "base": lambda k: base_name(k[1]), "mangled": lambda k: k[2] or k[1],
                "shape": lambda k: "{} <<<({},{},{}),({},{},{})>>>".format(k[1], *k[3]),
                "family": lambda k: told[k[1]]["family"], "category": lambda k: told[k[1]]["category"]}
        counts = []
        for grouping, key_of in keys.items():
            rows = self.show("--view", "kernels", "--group-by", grouping)["kernels"]
            counts.append(self.check_view(rows, key_of, place=grouping))
        # The run must show both forms of a distribution, or half of the claims were not tested.
        self.assertTrue(all(histogram > 0 for _, histogram in counts), counts)
        self.assertTrue(any(exact > 0 for exact, _ in counts), counts)

    def check_selections(self):
        draw = random.Random(SEED + 1)
        for size in (1, 7, 33):
            ranks = sorted(draw.sample(range(RANKS), size))
            rows = self.show("--view", "kernels", "--ranks", ",".join(map(str, ranks)))["kernels"]
            self.check_view(rows, lambda k: k[1], ranks, f"ranks {ranks}")
        rows = self.show("--view", "kernels", "--kernels", "ncclDev.*AllReduce")["kernels"]
        self.assertTrue(rows)
        for row in rows:
            self.assertIn("AllReduce", row["name"])

    def check_part(self, part, values, place):
        oracle = Oracle(values)
        self.assertEqual(part["max_ns"], oracle.values[-1], place)
        for level in ("p50", "p99"):
            want = oracle.level(level)
            if want is None:
                self.assertIsNone(part[level + "_ns"], place)
            else:
                self.assertLessEqual(abs(part[level + "_ns"] - want), 0.0055 * want + 1, place)

    def check_tails(self):
        values = defaultdict(lambda: defaultdict(list))
        for rank, name, _, _, duration in self.kernels:
            values[name][rank].append(duration)
        spans = {row["rank"]: row["span_ns"] for row in self.show("--view", "overlap")["overlap"]}
        hosts = {row["rank"]: row["host"] for row in self.show("--view", "ranks")["ranks"]}
        rows = self.show("--view", "tails")["tails"]
        self.assertTrue(rows)
        for row in rows:
            ranks = values[row["name"]]
            fleet = [value for rank in ranks.values() for value in rank]
            self.check_pct(row["fleet_ns"], fleet, row["name"])
            self.check_score(row, fleet, sum(spans.values()))
            for part in row["by_rank"]:
                self.check_part(part, ranks[part["rank"]], (row["name"], part["rank"]))
            for part in row["by_host"]:
                own = [value for rank, host in hosts.items() if host == part["host"] for value in ranks.get(rank, [])]
                self.check_part(part, own, (row["name"], part["host"]))
        scores = [row["tail_score"] for row in rows]
        self.assertEqual(scores, sorted(scores, reverse=True))

    def check_score(self, row, fleet, rank_time):
        median = Oracle(fleet).level("p50")
        score = sum(value - median for value in fleet if value > 2 * median) / rank_time
        if "bounds" not in row["fleet_ns"]:
            self.assertAlmostEqual(row["tail_score"], score, places=8)
            return
        # The p50 itself is an estimate: its bucket is 1.1 % wide, which moves the threshold and every difference.
        low, high = row["fleet_ns"]["bounds"]["p50"]
        least = sum(value * 0.988 - high for value in fleet if value * 0.988 > 2 * high) / rank_time
        most = sum(value * 1.012 - low for value in fleet if value * 1.012 > 2 * low) / rank_time
        self.assertLessEqual(least, row["tail_score"])
        self.assertLessEqual(row["tail_score"], most)
        self.assertLessEqual(row["tail_score_bounds"][0], row["tail_score"])
        self.assertLessEqual(row["tail_score"], row["tail_score_bounds"][1])

    def test_every_interval_contains_the_exact_quantile(self):
        self.check_groupings()
        self.check_selections()
        self.check_tails()


class Flags(TempDirTest):
    def kernels(self, *causes):
        folder = simulate(self.path(causes[0].split(":")[0]), "--program", "decode", "--tp", 8, "--layers", 8, "--steps", 60,
                          "--seed", SEED, "--cause", *causes)
        with open(os.path.join(folder, "truth.json"), encoding="utf-8") as file:
            planted = {name for cause in json.load(file)["causes"] for name in cause["kernels"]}
        self.assertTrue(planted)
        rows = analyze(folder, "--view", "kernels")["kernels"]
        return planted, {row["name"]: row for row in rows if row["category"] == "compute"}

    def test_tell_a_systematic_tail_where_it_was_planted(self):
        planted, rows = self.kernels("kernel_tail:p=0.03,factor=4")
        self.assertEqual({name for name, row in rows.items() if row["tail_flags"] == ["systematic", "outliers"]}, planted)
        self.assertEqual({tuple(row["tail_flags"]) for name, row in rows.items() if name not in planted}, {()})
        self.assertEqual(max(rows, key=lambda name: rows[name]["tail_score"]), *planted)

    def test_tell_outliers_where_they_were_planted(self):
        planted, rows = self.kernels("outlier:count=4,factor=8")
        self.assertEqual({name for name, row in rows.items() if row["tail_flags"] == ["outliers"]}, planted)
        self.assertEqual({tuple(row["tail_flags"]) for name, row in rows.items() if name not in planted}, {()})


class Levels(TempDirTest):
    def test_are_null_below_the_number_of_values_that_gives_them_a_meaning(self):
        for count, known in ((1, set()), (2, {"p50"}), (9, {"p50"}), (10, {"p50", "p90"}), (20, {"p50", "p90", "p95"}),
                             (99, {"p50", "p90", "p95"}), (100, set(LEVELS) - {"p999"}), (1000, set(LEVELS))):
            events = [{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 100 * i, "dur": 1 + i % 7,
                       "args": {"device": 0, "stream": 7}} for i in range(count)]
            path = self.path(f"{count}.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"traceEvents": events}, file)
            (row,) = analyze(path, "--view", "kernels")["kernels"]
            pct = row["duration_ns"]
            self.assertEqual({level for level in LEVELS if pct[level] is not None}, known, count)
            values = sorted(1000 * (1 + i % 7) for i in range(count))
            self.assertEqual(pct["median"], statistics.median(values))
            self.assertTrue(math.isclose(pct["stddev"], statistics.stdev(values) if count > 1 else 0, rel_tol=1e-8))


if __name__ == "__main__":
    unittest.main()
