#!/usr/bin/env python3
"""Puts the ranks of a real single-host run onto pretended hosts whose clocks differ by known offsets.

    split_hosts.py FOLDER OUT [--hosts N] [--offset-us X] [--drift-ppm X] [--repeat N] [--jitter-us X] [--seed N]

FOLDER holds the Kineto traces of one run, one file a rank, whose clocks agree. OUT receives one trace a rank, named after
its pretended host, and offsets.json with what was injected. With --repeat the run is played N times over: before every
collective each rank arrives a little later (exponential, mean --jitter-us), the collective ends its measured transfer after
the new last arrival, and everything behind it moves along; so the copies differ as real steps do, and stay possible.
"""
import argparse
import bisect
import glob
import json
import os
import random
import re

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}
LAUNCH = {"cuda_runtime", "cuda_driver", "runtime"}
KEPT_IN_COPIES = DEVICE | LAUNCH
STEP = re.compile(r"ProfilerStep\s*#(\d+)")
PAUSE_US = 500.0  # between two copies


def category(event):
    return event.get("cat", "").lower()


def is_collective(event):
    return category(event) == "kernel" and "nccl" in event.get("name", "").lower()


def load(folder):
    traces = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path, encoding="utf-8") as file:
            trace = json.load(file)
        traces[trace["distributedInfo"]["rank"]] = trace
    if not traces:
        raise SystemExit(f"{folder}: no Kineto traces with distributedInfo")
    return traces


class Rank:
    """One rank's events in order, with its collectives."""

    def __init__(self, trace):
        self.trace = trace
        timed = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
        self.events = sorted(timed, key=lambda e: e["ts"])
        self.collectives = [e for e in self.events if is_collective(e)]
        self.ends = [e["ts"] + e["dur"] for e in self.collectives]
        self.pid = next(e["pid"] for e in self.events if category(e) in LAUNCH)
        self.correlations = 1 + max((e.get("args", {}).get("correlation", 0) for e in timed), default=0)


class Player:
    """Plays all ranks once: the first copy as it was, later ones with jittered arrivals."""

    def __init__(self, ranks, jitter_us, rng):
        self.ranks = ranks
        self.rng = rng
        self.jitter_us = jitter_us
        counts = {len(rank.collectives) for rank in ranks.values()}
        if len(counts) != 1:
            raise SystemExit("the ranks have different numbers of collectives: they cannot be joined by order")
        self.count = counts.pop()
        self.begin = min(rank.events[0]["ts"] for rank in ranks.values())
        self.end = max(e["ts"] + e["dur"] for rank in ranks.values() for e in rank.events)

    def plan(self, copy):
        """For every collective: each rank's own delay, and how much later it ends than it did."""
        shifts, delays = [0.0], []
        for k in range(self.count):
            late = {r: self.rng.expovariate(1 / self.jitter_us) if copy else 0.0 for r in self.ranks}
            starts = {r: rank.collectives[k]["ts"] for r, rank in self.ranks.items()}
            last = max(starts.values())
            shifts.append(max(starts[r] + shifts[-1] + late[r] for r in self.ranks) - last)
            delays.append(late)
        return shifts, delays

    def play(self, copy, begin):
        shifts, delays = self.plan(copy)
        out = {}
        for r, rank in self.ranks.items():
            out[r] = [self.moved(rank, r, e, copy, begin, shifts, delays) for e in rank.events
                      if copy == 0 or category(e) in KEPT_IN_COPIES or STEP.match(e.get("name", ""))]
        return out, begin + (self.end - self.begin) + shifts[-1]

    def moved(self, rank, r, event, copy, begin, shifts, delays):
        new = dict(event)
        passed = bisect.bisect_right(rank.ends, event["ts"])
        start = event["ts"] + shifts[passed]
        if is_collective(event):
            k = next(i for i, c in enumerate(rank.collectives) if c is event)
            start += delays[k][r]
            new["dur"] = event["ts"] + event["dur"] + shifts[k + 1] - start
        new["ts"] = start - self.begin + begin
        if copy:
            step = STEP.match(event.get("name", ""))
            if step:
                new["name"] = f"ProfilerStep#{int(step.group(1)) + copy}"
            if "correlation" in event.get("args", {}):
                new["args"] = dict(event["args"])
                new["args"]["correlation"] += copy * rank.correlations
        return new


def write(path, trace, events, offset_us, drift_ppm, begin):
    for event in events:
        event["ts"] = round(event["ts"] + offset_us + (event["ts"] - begin) * drift_ppm * 1e-6, 3)
        event["dur"] = round(event["dur"], 3)
    new = dict(trace, traceEvents=events)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(new, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--offset-us", type=float, default=500, help="offsets are uniform within +- this")
    parser.add_argument("--drift-ppm", type=float, default=0, help="drifts are uniform within +- this")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--jitter-us", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    rng = random.Random(args.seed)
    ranks = {r: Rank(trace) for r, trace in sorted(load(args.folder).items())}
    hosts = [{"host": f"host{h}", "offset_us": rng.uniform(-args.offset_us, args.offset_us),
              "drift_ppm": rng.uniform(-args.drift_ppm, args.drift_ppm), "ranks": []} for h in range(args.hosts)]
    player = Player(ranks, args.jitter_us, rng)
    events = {r: [] for r in ranks}
    begin = player.begin
    for copy in range(args.repeat):
        played, begin = player.play(copy, begin)
        begin += PAUSE_US
        for r in ranks:
            events[r] += played[r]
    os.makedirs(args.out, exist_ok=True)
    for i, r in enumerate(ranks):
        host = hosts[i * args.hosts // len(ranks)]
        host["ranks"].append(r)
        name = f"{host['host']}_{ranks[r].pid}.{1700000000000 + r}.pt.trace.json"  # as torch's profiler names files
        write(os.path.join(args.out, name), ranks[r].trace, events[r], host["offset_us"], host["drift_ppm"], player.begin)
    with open(os.path.join(args.out, "offsets.json"), "w", encoding="utf-8") as file:
        json.dump({"hosts": hosts}, file, indent=1)


if __name__ == "__main__":
    main()
