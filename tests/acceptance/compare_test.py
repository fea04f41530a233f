"""`lockstep compare` as a person runs it: a run with itself has no difference, identical code is not called changed, and what was
changed is named. compare_gates_test.py has the gates and bad input, compare_sources_test.py stores, aggregators and real traces."""
import collections
import contextlib
import glob
import gzip
import json
import os
import re
import shutil
import sqlite3
import unittest

from jsonschema import Draft202012Validator

from support import ROOT, TempDirTest, run, simulate

# Eight ranks of one host, whose step takes about 1 ms; and a small job, of about 0.6 ms, for tests of many runs.
JOB = ["--program", "decode", "--tp", 8, "--hosts", 1, "--layers", 8, "--steps", 60]
DEEP = ["--program", "decode", "--tp", 2, "--hosts", 1, "--layers", 40, "--steps", 60]
SMALL = ["--program", "decode", "--tp", 4, "--hosts", 1, "--layers", 4, "--steps", 60]
TRAIN = ["--program", "train", "--tp", 2, "--dp", 1, "--hosts", 1, "--gpus-per-host", 2, "--layers", 4, "--steps", 12]
RAILS = ["--program", "train", "--tp", 2, "--dp", 4, "--hosts", 4, "--gpus-per-host", 2, "--layers", 4, "--steps", 30]
VIEWS = ["comparison", "ledger", "kernels", "families", "roles", "collectives", "waits", "ranks", "hosts", "context", "gates"]
CHANGED = ("slower", "faster")

with open(os.path.join(ROOT, "docs", "comparison.schema.json"), encoding="utf-8") as opened:
    SCHEMA = Draft202012Validator(json.load(opened))


def compare(*args, code=0):
    """The document of a comparison, which fits its schema."""
    done = run("lockstep", "compare", *args, "--format", "json")
    assert done.returncode == code, f"exit {done.returncode}\n{done.stderr}"
    document = json.loads(done.stdout)
    problems = [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in SCHEMA.iter_errors(document)]
    assert not problems, problems
    return document


def metric(document, name):
    (row,) = [row for row in document["metrics"] if row["metric"] == name]
    return row


def words(document):
    """What a reader sees first."""
    headline = document["headline"]
    return "\n".join([headline["sentence"], *headline["details"]])


def labels(document, count):
    return [row["label"] for row in document["ledger"][:count]]


def mean_step_ns(folder, steps):
    """Of rank 0, read without our code: from its first start to its last end of any kernel, by the number of steps."""
    with gzip.open(os.path.join(folder, "rank0.json.gz"), "rt") as file:
        rows = [(e["ts"], e["ts"] + e["dur"]) for e in json.load(file)["traceEvents"] if e.get("cat") == "kernel"]
    return 1000 * (max(end for _, end in rows) - min(start for start, _ in rows)) / steps


def places_in_second_step(folder, steps):
    """Of rank 0, read without our code: which kernels of the second step have which name. All steps launch as many."""
    with gzip.open(os.path.join(folder, "rank0.json.gz"), "rt") as file:
        kernels = sorted((e["ts"], e["name"]) for e in json.load(file)["traceEvents"] if e.get("cat") == "kernel")
    of_step = len(kernels) // steps
    places = {}
    for place, (_, name) in enumerate(kernels[of_step:2 * of_step]):
        places.setdefault(name, []).append(place)
    return of_step, {name: of if len(of) <= 64 else of[:63] + of[-1:] for name, of in places.items()}


def common_ranges(launches, annotations):
    """The innermost annotation around at least 95 % of the launches of each kernel, without our code.

    launches: (kernel, thread, time of the call); annotations: (thread, begin, end, name).
    """
    around = {}
    for kernel, tid, at in launches:
        inside = [(begin, name) for thread, begin, end, name in annotations if thread == tid and begin <= at < end]
        name = re.sub(r"[0-9]+", "#", max(inside)[1]) if inside else ""
        around.setdefault(kernel, collections.Counter())[None if name == "ProfilerStep##" else name or None] += 1
    most = {kernel: counts.most_common(1)[0] for kernel, counts in around.items()}
    return {kernel: name if 20 * count >= 19 * sum(around[kernel].values()) else None
            for kernel, (name, count) in most.items()}


def kineto_ranges(folder):
    with gzip.open(os.path.join(folder, "rank0.json.gz"), "rt") as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
    calls = {e["args"]["correlation"]: (e["tid"], e["ts"]) for e in events if e["cat"] in ("cuda_runtime", "cuda_driver")}
    launches = [(e["name"], *calls[e["args"]["correlation"]]) for e in events if e["cat"] == "kernel"]
    annotations = [(e["tid"], e["ts"], e["ts"] + e["dur"], e["name"]) for e in events if e["cat"] == "user_annotation"]
    return common_ranges(launches, annotations)


def nsys_ranges(folder):
    with contextlib.closing(sqlite3.connect(glob.glob(os.path.join(folder, "*.sqlite"))[0])) as db:
        launches = db.execute("SELECT value, r.globalTid, r.start FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN "
                              "CUPTI_ACTIVITY_KIND_RUNTIME AS r ON r.correlationId = k.correlationId AND "
                              "r.globalTid / 0x1000000 = k.globalPid / 0x1000000 "
                              "JOIN StringIds ON id = demangledName WHERE k.deviceId = 0").fetchall()
        annotations = db.execute("SELECT globalTid, start, end, coalesce(text, value) FROM NVTX_EVENTS "
                                 "LEFT JOIN StringIds ON id = textId WHERE eventType = 59").fetchall()
    return common_ranges(launches, annotations)


class Comparing(TempDirTest):
    def run_of(self, name, program, seed, *args):
        """The folder of a simulated run; the name of the folder is that of the run."""
        return simulate(self.path(name), *program, "--seed", seed, *args)

    def check_sums(self, document):
        """The ledger sums to the mean step of both sides, and so to its change."""
        step = metric(document, "step_time_mean")
        for side in ("base", "new"):
            total = sum(row[side + "_ns_per_step"] for row in document["ledger"])
            self.assertLessEqual(abs(total - step[side]), 1, side)
        for row in document["ledger"]:
            self.assertEqual(row["change_ns_per_step"], row["new_ns_per_step"] - row["base_ns_per_step"], row)


class TheProfileOfARun(Comparing):
    def test_tells_which_kernels_of_a_typical_step_have_which_name(self):
        traces = self.run_of("a", DEEP, 3)
        done = run("lockstep", "analyze", traces, "--view", "profile", "--format", "json")
        of_step, expected = places_in_second_step(traces, 60)
        self.assertEqual(max(map(len, expected.values())), 64, "some kernels are cut")
        kernels = json.loads(done.stdout)["profile"]["kernels"]
        self.assertEqual({kernel["name"]: kernel["typical_places"] for kernel in kernels}, expected)
        self.assertEqual({kernel["typical_kernels"] for kernel in kernels}, {of_step})

    def check_ranges(self, expected, *rank):
        done = run("lockstep", "analyze", *rank, "--view", "profile", "--format", "json")
        kernels = [k for k in json.loads(done.stdout)["profile"]["kernels"] if k["category"] == "compute"]
        self.assertEqual({k["name"]: k["range"] for k in kernels}, {k["name"]: expected[k["name"]] for k in kernels})
        self.assertLess(1, len({k["range"] for k in kernels}), "some are inside a range and others are not")

    def test_tells_the_range_around_each_kernel(self):
        traces = self.run_of("kineto", [*TRAIN, "--stacks"], 3)
        self.check_ranges(kineto_ranges(traces), os.path.join(traces, "rank0.json.gz"))
        traces = self.run_of("nsys", [*TRAIN, "--format", "nsys"], 3)
        self.check_ranges(nsys_ranges(traces), glob.glob(os.path.join(traces, "*.sqlite"))[0])


class ARunWithItself(Comparing):
    def test_has_no_difference_at_all(self):
        traces = self.run_of("a", JOB, 1, "--cause", "slow_gpu:rank=3,factor=1.3")
        document = compare(traces, traces)
        self.assertEqual(document["headline"]["verdict"], "same")
        self.assertEqual(document["headline"]["details"], [])
        self.assertEqual(document["comparable"], {"verdict": "yes", "reasons": [], "matched_time_ratio": 1, "differences": []})
        self.assertGreater(len(document["metrics"]), 5)
        for row in document["metrics"]:
            self.assertEqual((row["change"], row["verdict"], row["interval"]), (0, "same", [0, 0]), row["metric"])
        for row in document["ledger"]:
            self.assertEqual(row["change_ns_per_step"], 0, row["label"])
        for row in document["kernels"]:
            self.assertEqual((row["match"], row["matched_by"], row["certainty"]), ("same", "exact", "certain"))
            self.assertEqual((row["change_ns_per_step"], row["verdict"], row["base"]), (0, "same", row["new"]))
        for row in document["families"]:
            self.assertEqual(row["change_ns_per_step"], 0, row["family"])
        for row in document["collectives"]:
            self.assertEqual(row["base"], row["new"])
        self.assertEqual([row["change"] for row in document["late"]], ["stays"])
        self.assertEqual(len(document["ranks"]["ranks"]), 8)
        for row in document["ranks"]["ranks"]:
            self.assertEqual(row["base"], row["new"])

    def test_has_no_difference_under_another_name(self):
        traces = self.run_of("a", SMALL, 1)
        other = shutil.copytree(traces, self.path("b"))
        document = compare(traces, other)
        self.assertEqual({row["change"] for row in document["metrics"]}, {0})
        self.assertEqual({row["change_ns_per_step"] for row in document["ledger"] + document["kernels"]}, {0})

    def test_is_no_repeat_of_itself(self):
        """A run that a side has twice says nothing about the noise between runs."""
        base, new = self.run_of("a", SMALL, 1), self.run_of("b", SMALL, 2)
        document = compare("--base", base, base, "--new", new, new)
        self.assertEqual(document["noise"]["source"], "default")

    def test_gives_the_same_bytes_twice_in_every_format(self):
        base, new = self.run_of("a", SMALL, 1), self.run_of("b", SMALL, 2, "--cause", "slow_gpu:rank=1,factor=1.2")
        documents = [run("lockstep", "compare", base, new, "--format", "json", *jobs).stdout for jobs in ([], ["--jobs", 1], ["--jobs", 7])]
        self.assertEqual(documents[0], documents[1])
        self.assertEqual(documents[0], documents[2])
        for name in ("a", "b"):
            run("lockstep", "analyze", self.path(name), "--store", self.path("runs.db"), "--run", name)
        formats = [["--format", "text", "--view", "all"], ["--format", "json"], ["--format", "markdown"]]
        formats += [["--format", "csv", "--view", view] for view in VIEWS]
        for arguments in formats:
            for pair in (("a", "a"), ("a", "b")):
                with self.subTest(arguments, pair=pair):
                    said = [run("lockstep", "compare", *pair, "--store", self.path("runs.db"), "--gate", "step_time<=50%", *arguments)
                            for _ in range(2)]
                    self.assertEqual([done.returncode for done in said], [0, 0], said[0].stderr)
                    self.assertEqual(said[0].stdout, said[1].stdout)
                    self.assertTrue(said[0].stdout)

    def test_checked_for_false_alarms_says_how_many(self):
        done = run("lockstep", "compare", "--self", self.run_of("a", SMALL, 1), "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        checked = json.loads(done.stdout)
        self.assertGreater(checked["deals"], 0)
        self.assertAlmostEqual(checked["alarm_ratio"], checked["alarms"] / checked["deals"], places=9)
        self.assertLessEqual(checked["alarm_ratio"], 0.07)


class IdenticalCode(Comparing):
    def test_with_another_seed_is_neither_slower_nor_faster(self):
        runs = [self.run_of(f"r{seed}", JOB, seed) for seed in range(11, 15)]
        verdicts = []
        for base, new in zip(runs, runs[1:]):
            with self.subTest(base=os.path.basename(base)):
                document = compare(base, new)
                self.assertNotIn(document["headline"]["verdict"], CHANGED)
                verdicts += [row["verdict"] for row in document["metrics"]]
                self.assertEqual(document["comparable"]["verdict"], "yes")
                self.assertEqual(document["late"], [])
                self.assertEqual([row["match"] for row in document["kernels"]], ["same"] * len(document["kernels"]))
                self.check_sums(document)
        self.assertLessEqual(sum(verdict in CHANGED for verdict in verdicts), 0.07 * len(verdicts))

    def test_of_several_repeats_is_neither_slower_nor_faster(self):
        runs = [self.run_of(f"r{seed}", SMALL, seed) for seed in range(21, 27)]
        for order in (runs, runs[::2] + runs[1::2], runs[::-1]):
            document = compare("--base", *order[:3], "--new", *order[3:])
            self.assertEqual(document["noise"]["source"], "repeats")
            self.assertNotIn(document["headline"]["verdict"], CHANGED)


class WhatWasChanged(Comparing):
    def check_mean_steps(self, document, base, new, steps):
        """The mean step of both sides and its change, against the traces themselves."""
        row = metric(document, "step_time_mean")
        for side, folder in (("base", base), ("new", new)):
            self.assertAlmostEqual(row[side] / mean_step_ns(folder, steps), 1, delta=0.03, msg=side)

    def check_cause(self, program, steps, entry, *args, count=2, base_args=(), verdict="slower"):
        """The first line says slower, the ledger names what was put in; swapped sides say the reverse."""
        base, new = self.run_of("base", program, 101, *base_args), self.run_of("new", program, 202, *args)
        document = compare(base, new)
        self.assertEqual(document["headline"]["verdict"], verdict, words(document))
        self.assertTrue(document["headline"]["sentence"].startswith(verdict.capitalize() + " by "), words(document))
        self.assertTrue(any(entry in label for label in labels(document, count)), labels(document, 4))
        self.assertIn(entry, words(document))
        self.check_sums(document)
        self.check_mean_steps(document, base, new, steps)
        self.check_mirrored(document, compare(new, base))
        return document

    def check_mirrored(self, document, swapped):
        opposite = {"slower": "faster", "faster": "slower", "appeared": "gone", "gone": "appeared"}
        for there, back in zip(document["metrics"], swapped["metrics"]):
            self.assertEqual((there["metric"], there["base"], there["new"]), (back["metric"], back["new"], back["base"]))
            self.assertEqual(opposite.get(there["verdict"], there["verdict"]), back["verdict"], there["metric"])
        back = {row["part"]: row for row in swapped["ledger"]}
        for row in document["ledger"]:
            self.assertEqual(row["change_ns_per_step"], -back[row["part"]]["change_ns_per_step"], row["label"])
        late = {(row["scope"], row["id"]): row["change"] for row in swapped["late"]}
        for row in document["late"]:
            self.assertEqual(late[row["scope"], row["id"]], opposite.get(row["change"], row["change"]))

    def test_a_slow_gpu_is_named_as_the_rank_that_is_waited_for(self):
        document = self.check_cause(JOB, 60, "waiting for rank 3", "--cause", "slow_gpu:rank=3,factor=1.3", count=1)
        (late,) = document["late"]
        self.assertEqual((late["scope"], late["id"], late["change"], late["base"]), ("rank", "3", "appeared", None))
        # Of the ranks side by side it is the first, and only its computing changed by the factor.
        ranks = document["ranks"]["ranks"]
        self.assertEqual(ranks[0]["new"]["rank"], 3)
        self.assertAlmostEqual(ranks[0]["compute_change_ratio"], 0.3, delta=0.03)
        for row in ranks[1:]:
            self.assertAlmostEqual(row["compute_change_ratio"], 0, delta=0.03)

    def test_a_late_host_is_named_as_the_rank_that_is_waited_for(self):
        document = self.check_cause(JOB, 60, "waiting for rank 5", "--cause", "late_host:rank=5,us=60,p=0.3", count=1)
        self.assertIn("idle, the host launches late", words(document))
        # A late host changes no kernel that computes.
        for row in document["kernels"]:
            if row["category"] != "communication":
                self.assertNotIn(row["verdict"], CHANGED, row["base"]["names"])

    def test_a_slow_kernel_is_named_with_its_rank_and_its_family(self):
        document = self.check_cause(JOB, 60, "waiting for rank 2", "--cause", "slow_kernel:rank=2,kernel=nvjet,factor=2", count=1)
        self.assertIn("gemm kernels", labels(document, 4))
        # The factor is that of one of eight ranks: the mean rank has an eighth of it.
        slower = [row for row in document["kernels"] if row["verdict"] == "slower" and row["category"] != "communication"]
        self.assertTrue(slower)
        for row in slower:
            self.assertEqual(row["family"], "gemm")
            self.assertAlmostEqual(row["change_ratio"], 1 / 8, delta=0.02)

    def test_a_slow_rail_is_named(self):
        document = self.check_cause(RAILS, 30, "waiting for rail 1", "--cause", "slow_rail:rail=1,factor=4")
        self.assertEqual([(row["scope"], row["change"]) for row in document["late"]], [("rail", "appeared")])
        (small,) = [row for row in document["collectives"] if row["op"] == "all_reduce" and row["bytes"] < 100_000]
        self.assertAlmostEqual(small["transfer_change_ratio"], 3, delta=0.3)

    def test_kernels_that_all_take_longer_are_the_cause_by_family(self):
        document = self.check_cause(JOB, 60, "gemm kernels", "--model-scale", 1.3, count=1)
        self.assertEqual(document["late"], [])
        for row in document["kernels"]:
            if row["category"] != "communication":
                self.assertEqual(row["verdict"], "slower", row["base"]["names"])
                self.assertAlmostEqual(row["change_ratio"], 0.3, delta=0.02)

    def test_more_layers_are_more_instances_of_the_same_kernels(self):
        more = ["--program", "decode", "--tp", 8, "--hosts", 1, "--layers", 12, "--steps", 60]
        base, new = self.run_of("base", JOB, 101), self.run_of("new", more, 202)
        document = compare(base, new)
        self.assertEqual(document["headline"]["verdict"], "slower")
        self.assertEqual(labels(document, 1), ["gemm kernels"])
        self.check_sums(document)
        self.check_mean_steps(document, base, new, 60)
        gemms = [row for row in document["kernels"] if row["family"] == "attention"]
        for row in gemms:
            self.assertAlmostEqual(row["new"]["instances_per_step"] / row["base"]["instances_per_step"], 1.5, delta=0.01)
            self.assertLessEqual(abs(row["new"]["p50_ns"] / row["base"]["p50_ns"] - 1), 0.02)

    def test_another_number_of_ranks_is_compared_as_a_whole_and_not_rank_by_rank(self):
        fewer = ["--program", "decode", "--tp", 4, "--hosts", 1, "--layers", 8, "--steps", 60]
        base, new = self.run_of("base", JOB, 101), self.run_of("new", fewer, 202)
        document = compare(base, new)
        self.assertEqual(document["comparable"]["verdict"], "partly")
        self.assertTrue(any("not comparable rank by rank: the sides have 8 and 4 ranks" in text for text in document["comparable"]["reasons"]))
        self.assertEqual((document["ranks"]["by"], document["ranks"]["ranks"]), ("none", []))
        self.assertIn("8 and 4 ranks", document["ranks"]["reason"])
        self.assertIn("moving data", labels(document, 2))  # a ring of fewer members
        self.check_sums(document)
        self.check_mean_steps(document, base, new, 60)
        done = run("lockstep", "compare", base, new, "--view", "ranks")
        self.assertIn("not comparable rank by rank", done.stdout)
        self.assertIn("8 and 4 ranks", done.stdout)

    def test_a_cause_that_moved_is_gone_here_and_appeared_there(self):
        base = self.run_of("base", JOB, 101, "--cause", "slow_gpu:rank=3,factor=1.3")
        document = compare(base, self.run_of("new", JOB, 202, "--cause", "slow_gpu:rank=6,factor=1.3"))
        self.assertNotIn(document["headline"]["verdict"], CHANGED)
        self.assertEqual({row["id"]: row["change"] for row in document["late"]}, {"3": "gone", "6": "appeared"})
        self.assertEqual(sorted(labels(document, 2)), ["waiting for rank 3", "waiting for rank 6"])

    def test_hosts_that_were_swapped_are_paired_by_host(self):
        """The same GPU is slow, but its host holds other ranks now: the hosts say which GPU is which."""
        program = ["--program", "decode", "--tp", 8, "--hosts", 2, "--gpus-per-host", 4, "--layers", 6, "--steps", 40]
        base = self.run_of("base", program, 101)
        new = self.run_of("new", program, 202, "--cause", "slow_gpu:rank=1,factor=1.3")
        for path in glob.glob(os.path.join(new, "rank*.json.gz")):
            with gzip.open(path, "rt") as file:
                text = file.read()
            self.assertIn("node00", text)
            swap = {"node000": "node001", "node001": "node000"}
            with gzip.open(path, "wt") as file:
                file.write(re.sub("node00[01]", lambda found: swap[found.group()], text))
        document = compare(base, new)
        self.assertEqual(labels(document, 1), ["waiting for rank 1"])
        self.assertEqual(document["ranks"]["by"], "host")
        pairs = {row["base"]["rank"]: row["new"]["rank"] for row in document["ranks"]["ranks"]}
        self.assertEqual(pairs, {rank: (rank + 4) % 8 for rank in range(8)})
        worst = document["ranks"]["ranks"][0]
        self.assertEqual((worst["base"]["rank"], worst["new"]["rank"], worst["new"]["host"]), (5, 1, "node001"))
        by_rank = compare(base, new, "--pair", "rank")["ranks"]
        self.assertEqual({(row["base"]["rank"], row["new"]["rank"]) for row in by_rank["ranks"]}, {(r, r) for r in range(8)})


class Context(Comparing):
    def test_that_differs_is_listed_and_the_tokens_of_a_step_give_the_throughput(self):
        base, new = self.run_of("a", SMALL, 1), self.run_of("b", SMALL, 2)
        with open(os.path.join(new, "lockstep-context.json"), "w", encoding="utf-8") as file:
            json.dump({"commit": "1a2b3c", "tokens_per_step": 4096, "compiled": True}, file)
        document = compare(base, new, "--context", "base:commit=9f8e7d,base:tokens_per_step=4096,base:compiled=true,model=llama")
        (difference,) = document["comparable"]["differences"]
        self.assertEqual(difference, {"key": "commit", "base": "9f8e7d", "new": "1a2b3c", "blocks": False})
        self.assertEqual(document["base"][0]["context"]["model"], "llama")
        row = metric(document, "throughput")
        self.assertEqual(row["unit"], "tokens/s")
        self.assertAlmostEqual(row["base"], 4096e9 / metric(document, "step_time_mean")["base"], delta=row["base"] * 1e-6)

    def test_on_the_command_line_wins_over_the_file(self):
        traces = self.run_of("a", SMALL, 1)
        with open(os.path.join(traces, "lockstep-context.json"), "w", encoding="utf-8") as file:
            json.dump({"model": "llama"}, file)
        document = compare(traces, traces, "--context", "new:model=qwen")
        self.assertEqual((document["base"][0]["context"]["model"], document["new"][0]["context"]["model"]), ("llama", "qwen"))


if __name__ == "__main__":
    unittest.main()
