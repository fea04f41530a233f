"""Clocks and stragglers across hosts: what was injected is found again, and what cannot be told is not told."""
import glob
import gzip
import itertools
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import unittest

from support import DATA, ROOT, TempDirTest, analyze, needs_traces, run, simulate

DLRM = os.path.join(DATA, "kineto", "param_dlrm_8rank_v100", "kineto")
SPLIT_HOSTS = os.path.join(ROOT, "bench", "accuracy", "split_hosts.py")
SEED = int(os.environ.get("LOCKSTEP_SEED", "1"))
BASE_US = 1_700_000_000_000_000
KERNEL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def split(out, *flags):
    """The DLRM ranks on pretended hosts; by host, the offset of its clock that was injected."""
    subprocess.run([sys.executable, SPLIT_HOSTS, DLRM, out, *map(str, flags)], check=True, timeout=300)
    with open(os.path.join(out, "offsets.json"), encoding="utf-8") as file:
        offsets = {host["host"]: round(1000 * host["offset_us"]) for host in json.load(file)["hosts"]}
    os.remove(os.path.join(out, "offsets.json"))
    return offsets


@needs_traces
class DlrmOnFourHosts(TempDirTest):
    def hosts_of(self, report):
        hosts = report["clock"]["hosts"]
        self.assertEqual(len(hosts), 4)
        self.assertEqual({host["component"] for host in hosts}, {0}, "every host shares collectives with the others")
        return hosts

    def pair_errors(self, hosts, offsets):
        return [abs((b["offset_ns"] - a["offset_ns"]) - (offsets[b["host"]] - offsets[a["host"]]))
                for a, b in itertools.combinations(hosts, 2)]

    def check_bands(self, hosts, offsets):
        """Against the reference, and so between every two hosts."""
        reference = offsets[hosts[0]["host"]]
        for host in hosts:
            low, high = host["certified_ns"]
            self.assertLessEqual(low, offsets[host["host"]] - reference)
            self.assertGreaterEqual(high, offsets[host["host"]] - reference)

    def test_one_copy_gives_the_injected_offsets_within_what_is_stated(self):
        for seed in (1, 2, 3):
            offsets = split(self.path(f"one{seed}"), "--seed", seed)
            report = analyze(self.path(f"one{seed}"), "--view", "clock,skew", "--instances=all")
            hosts = self.hosts_of(report)
            self.check_bands(hosts, offsets)
            for host in hosts[1:]:
                error = abs(host["offset_ns"] - (offsets[host["host"]] - offsets[hosts[0]["host"]]))
                self.assertLessEqual(error, max(10_000, host["uncertainty_ns"]))
                self.assertLessEqual(2 * host["uncertainty_ns"], 100_000)
            self.assertEqual(len(report["skew"]["instances"]), 8)
            for instance in report["skew"]["instances"]:
                self.assertIsNotNone(instance["spread_ns"])
                self.assertLessEqual(instance["uncertainty_ns"], 100_000)

    def test_drift_within_one_copy_is_not_determinable(self):
        split(self.path("drift"), "--drift-ppm", 20)
        hosts = self.hosts_of(analyze(self.path("drift"), "--view", "clock"))
        self.assertEqual([host["drift_ppm"] for host in hosts[1:]], [None] * 3)

    def test_two_hundred_copies_give_the_offsets_within_microseconds(self):
        offsets = split(self.path("many"), "--repeat", 200)
        hosts = self.hosts_of(analyze(self.path("many"), "--view", "clock"))
        self.check_bands(hosts, offsets)
        errors = self.pair_errors(hosts, offsets)
        self.assertLessEqual(statistics.median(errors), 1_500)
        self.assertLessEqual(max(errors), 5_000)


def collective(rank, number, start_us, end_us):
    """A kernel of an all-reduce over three ranks, and its launch."""
    args = {"device": 0, "stream": 7, "correlation": number, "Collective name": "allreduce", "Process Group Name": "0",
            "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1, 2]", "Group size": 3,
            "dtype": "Float", "In msg nelems": 1, "Out msg nelems": 1, "Seq": number, "Comms Id": number}
    return [{"ph": "X", "cat": "kernel", "name": KERNEL, "pid": 0, "tid": 7,
             "ts": round(BASE_US + start_us, 3), "dur": round(end_us - start_us, 3), "args": args},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1000 + rank, "tid": 1,
             "ts": round(BASE_US + start_us - 5, 3), "dur": 1, "args": {"correlation": number}}]


class FirstCalls(TempDirTest):
    """The first collectives of a communicator end up to 18 ms apart, whatever the clocks say."""

    def write_run(self, out, count, seed):
        rng = random.Random(seed)
        offsets = [rng.uniform(-3_000, 3_000) for _ in range(3)]
        events = [[], [], []]
        for number in range(1, count + 1):
            starts = [100_000 * number + rng.uniform(0, 20_000) for _ in range(3)]
            for rank, own in enumerate(events):
                end = max(starts) + 200 + rng.uniform(0, 18_000)
                own += collective(rank, number, starts[rank] + offsets[rank], end + offsets[rank])
        os.makedirs(out)
        for rank, own in enumerate(events):
            trace = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}],
                     "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 3}, "traceEvents": own}
            name = f"host{rank}_{100 + rank}.{1700000000000 + rank}.pt.trace.json"
            with open(os.path.join(out, name), "w", encoding="utf-8") as file:
                json.dump(trace, file)
        return [round(1000 * (offset - offsets[0])) for offset in offsets]

    def test_one_or_two_of_them_resolve_no_arrival(self):
        for count, seed in itertools.product((1, 2), (1, 2, 3)):
            folder = self.path(f"calls{count}_{seed}")
            truth = self.write_run(folder, count, seed)
            report = analyze(folder, "--view", "clock,skew", "--instances=all")
            self.assertEqual(len(report["skew"]["instances"]), count)
            self.assertEqual([i["resolvable"] for i in report["skew"]["instances"]], [False] * count)
            self.assertEqual(sum(row["caused_wait_total_ns"] for row in report["skew"]["ranks"]), 0)
            (component,) = report["clock"]["components"]
            self.assertGreater(component["not_resolvable_below_ns"], 5_000_000)
            for host, offset in zip(report["clock"]["hosts"], truth):
                self.assertLessEqual(abs(host["offset_ns"] - offset), host["uncertainty_ns"] or 0)
                self.assertLessEqual(host["certified_ns"][0], offset)
                self.assertGreaterEqual(host["certified_ns"][1], offset)


def truth_of(folder):
    with open(os.path.join(folder, "truth.json"), encoding="utf-8") as file:
        return json.load(file)


def traces_in(folder):
    return sorted(glob.glob(os.path.join(folder, "*.json.gz")) + glob.glob(os.path.join(folder, "*.sqlite")))


def rewrite(path, change):
    """Changes the events of a Kineto trace."""
    with gzip.open(path, "rt") as file:
        trace = json.load(file)
    trace["traceEvents"] = change(trace["traceEvents"])
    with gzip.open(path, "wt") as file:
        json.dump(trace, file)


class OneLateRankOfSixtyFour(TempDirTest):
    """Eight hosts, kernel names only, clocks apart and drifting, records lost, windows that begin at different times."""

    def report_of(self, name, layout, *cause):
        folder = simulate(self.path(name), "--program", "decode", *layout, "--hosts", 8, "--gpus-per-host", 8, "--layers", 16,
                          "--steps", 48, "--format", "nsys", "--ids", "names", "--clock", "offset_ms=5,drift_ppm=10,bias_us=2",
                          "--defect", "loss:p=0.005", "--defect", "stagger:s=0.02", "--seed", SEED, *cause)
        return folder, analyze(folder, "--view", "summary,stragglers")

    def test_the_summary_names_rank_host_cause_and_saving(self):
        for name, layout in (("replicas", ["--tp", 8, "--dp", 8]), ("one", ["--tp", 64])):
            with self.subTest(name, seed=SEED):
                folder, report = self.report_of(name, layout, "--cause", "late_host:us=50,p=0.3")
                (cause,) = truth_of(folder)["causes"]
                (rank,) = cause["origin_ranks"]
                (culprit,) = report["summary"]["culprits"]
                self.assertEqual((culprit["rank"], culprit["host"]), (rank, f"node{rank // 8:03}"))
                self.assertEqual((culprit["cause"], culprit["recurrence"]), ("host_delay", "persistent"))
                self.assertGreater(culprit["confidence"], 0.99)
                low, high = culprit["saving_interval_ratio"]
                truth = cause["saving_ns_per_step"] / cause["step_ns_with"]
                self.assertLessEqual(low, truth)
                self.assertGreaterEqual(high, truth)
                (straggler,) = report["stragglers"]
                self.assertEqual(straggler["frontier"], "agrees")
                self.assertGreater(straggler["blamed_wait_ns"], 5 * straggler["blamed_critical_ns"])
                text = run("lockstep", "analyze", folder).stdout
                for words in (f"Rank {rank} makes the others wait", f"host node{rank // 8:03}", "its CPU launches kernels late", "saving"):
                    self.assertIn(words, text)

    def test_without_the_cause_nobody_is_named(self):
        for name, layout in (("replicas", ["--tp", 8, "--dp", 8]), ("one", ["--tp", 64])):
            with self.subTest(name, seed=SEED):
                _, report = self.report_of(name, layout)
                self.assertEqual(report["summary"]["culprits"], [])
                self.assertEqual(report["stragglers"], [])


LATE_FIVE = ["--program", "decode", "--tp", 8, "--hosts", 4, "--gpus-per-host", 2, "--layers", 4, "--steps", 40, "--clock",
             "offset_ms=5,drift_ppm=10,bias_us=2", "--cause", "late_host:rank=5,us=50,p=0.3", "--seed", SEED]


class RunsThatDoNotAgree(TempDirTest):
    """An honest "cannot tell" with the reason, and the part of the answer that is sound."""

    def all_views(self, folder, *flags):
        report = analyze(folder, "--view", "all", "--instances=all", *flags)
        self.gates = {gate["name"]: gate for gate in report["quality"]["gates"]}
        self.told = "\n".join(f"{notice['view']}: {notice['reason']}" for notice in report["notices"])
        return report

    def check_saving(self, folder, report):
        """Nothing, or within what is stated."""
        (cause,) = truth_of(folder)["causes"]
        for culprit in report["summary"]["culprits"]:
            self.assertEqual(culprit["rank"], 5)
            if culprit["saving_ratio"] is None:
                continue
            low, high = culprit["saving_interval_ratio"]
            self.assertLessEqual(low, cause["saving_ns_per_step"] / cause["step_ns_with"])
            self.assertGreaterEqual(high, cause["saving_ns_per_step"] / cause["step_ns_with"])

    def check_nothing_compared(self, report):
        self.assertEqual(report["summary"]["culprits"], [])
        self.assertEqual(report["summary"]["wait_total_ns"], 0)
        self.assertNotIn(report["summary"]["verdict"], ("transfer", "skew", "mixed"))
        self.assertEqual(report["stragglers"], [])
        self.assertIn("stragglers: no collective can be compared across ranks", self.told)
        self.assertFalse(any(instance["resolvable"] for instance in report["skew"]["instances"]))
        self.assertGreater(report["summary"]["time_share"]["compute_ratio"], 0)

    def test_ranks_of_eight_different_runs_are_not_compared(self):
        programs = ["decode", "prefill", "train", "batching", "decode", "train", "prefill", "decode"]
        for form, ids in (("kineto", "full"), ("nsys", "names")):
            for kind in ("seeds", "programs"):
                with self.subTest(f"{form} {kind}", seed=SEED):
                    mixed = self.path(f"{form}-{kind}")
                    os.mkdir(mixed)
                    for rank in range(8):
                        program = programs[rank] if kind == "programs" else "decode"
                        one = simulate(self.path("one"), "--program", program, "--tp", 8, "--hosts", 8, "--gpus-per-host", 1,
                                       "--layers", 2, "--steps", 20, "--format", form, "--ids", ids, "--clock",
                                       "offset_ms=5,drift_ppm=10,bias_us=2", "--seed", 8 * SEED + rank)
                        shutil.copy(traces_in(one)[rank], mixed)
                        shutil.rmtree(one)
                    report = self.all_views(mixed)
                    self.assertEqual(report["summary"]["culprits"], [])
                    self.assertEqual(report["stragglers"], [])
                    self.assertIs(self.gates["clock"]["ok"], False)
                    self.assertIs(self.gates["matching"]["ok"], False)
                    self.assertIn("of one run", self.gates["matching"]["fix"])
                    if kind == "programs":
                        self.check_nothing_compared(report)
                        self.assertEqual({host["method"] for host in report["clock"]["hosts"]}, {"none"})

    def test_one_rank_alone_tells_no_waiting(self):
        for form, ids in (("kineto", "full"), ("nsys", "names")):
            folder = simulate(self.path(form), "--program", "decode", "--tp", 8, "--hosts", 8, "--gpus-per-host", 1, "--layers", 2,
                              "--steps", 20, "--format", form, "--ids", ids, "--seed", SEED)
            alone = traces_in(folder)[2]
            report = self.all_views(alone)
            self.check_nothing_compared(report)
            self.assertNotIn("breaks", json.dumps(report["notices"]), "one rank's sequence is no broken one")
            self.assertIn("one rank alone does not show when the others arrive", run("lockstep", "analyze", alone).stdout)

    def test_half_of_a_ranks_events_are_missed_and_the_late_rank_still_named(self):
        folder = simulate(self.path("half"), *LATE_FIVE, "--ids", "full")
        rng = random.Random(SEED)
        rewrite(os.path.join(folder, "rank3.json.gz"),
                lambda events: [e for e in events if e.get("cat") != "kernel" or rng.random() < 0.5])
        report = self.all_views(folder)
        self.assertIs(self.gates["dropped_records"]["ok"], False)
        self.assertRegex(self.gates["dropped_records"]["detail"], r"rank 3 has no record of \d+ of \d+ collectives")
        self.assertRegex(self.told, r"collectives: rank 3 lacks")
        self.assertEqual([culprit["rank"] for culprit in report["summary"]["culprits"]], [5])
        self.check_saving(folder, report)

    def test_records_given_twice_cost_no_truth(self):
        folder = simulate(self.path("twice"), *LATE_FIVE, "--ids", "full")
        rewrite(os.path.join(folder, "rank3.json.gz"), lambda events: events + [e for e in events if e.get("ph") == "X"])
        report = self.all_views(folder)
        self.assertEqual([culprit["rank"] for culprit in report["summary"]["culprits"]], [5])
        self.check_saving(folder, report)

    def test_a_rank_that_claims_another_size_of_its_group(self):
        folder = simulate(self.path("size"), *LATE_FIVE, "--ids", "full")

        def claim_sixteen(events):
            for event in events:
                if "Group size" in event.get("args", {}):
                    event["args"].update({"Group size": 16, "Process Group Ranks": str(list(range(16)))})
            return events

        rewrite(os.path.join(folder, "rank3.json.gz"), claim_sixteen)
        report = self.all_views(folder)
        self.assertTrue(any(self.gates[gate]["ok"] is False for gate in ("matching", "complete_ranks", "rank_identity")))
        self.assertEqual([culprit["rank"] for culprit in report["summary"]["culprits"]], [5])
        self.check_saving(folder, report)

    def test_a_clock_that_contradicts_itself_is_told_and_no_saving_made_of_it(self):
        folder = simulate(self.path("clock"), *LATE_FIVE, "--ids", "full")
        rng = random.Random(SEED)

        def shake(events):
            for event in events:
                if "ts" in event:
                    event["ts"] += 3_000 * rng.random()
            return events

        for rank in (6, 7):
            rewrite(os.path.join(folder, f"rank{rank}.json.gz"), shake)
        report = self.all_views(folder)
        self.assertIs(self.gates["clock"]["ok"], False)
        self.check_saving(folder, report)

    def test_two_machines_of_one_name_are_told_apart_by_their_clocks(self):
        folder = simulate(self.path("same"), *LATE_FIVE, "--ids", "full", "--format", "nsys", "--defect", "same_hostname")
        report = self.all_views(folder)
        self.assertEqual(len(report["clock"]["hosts"]), 4)
        self.assertEqual([culprit["rank"] for culprit in report["summary"]["culprits"]], [5])
        self.check_saving(folder, report)


if __name__ == "__main__":
    unittest.main()
