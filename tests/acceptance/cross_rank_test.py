"""Clocks across hosts: injected offsets are found again, and what cannot be told is not told."""
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import unittest

from support import DATA, ROOT, TempDirTest, analyze, needs_traces

DLRM = os.path.join(DATA, "kineto", "param_dlrm_8rank_v100", "kineto")
SPLIT_HOSTS = os.path.join(ROOT, "bench", "accuracy", "split_hosts.py")
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


if __name__ == "__main__":
    unittest.main()
