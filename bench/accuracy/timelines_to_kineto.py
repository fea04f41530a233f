#!/usr/bin/env python3
"""Turns an operation timeline of the public ByteDance straggler study into Kineto traces, one a rank.

    timelines_to_kineto.py timeline-ST.json.gz OUT --dp 2 --pp 4 [--steps N]

The timelines (github.com/ByteDance-Seed/StragglerAnalysis) hold one operation a row, not kernels: computing and the
communication of pipeline and data parallelism, each with the clock of its own worker. A worker becomes a rank: stage * dp + its
place in data parallelism. Only for checking the analysis against the authors' results; not a reader of the product.
"""
import argparse
import collections
import gzip
import json
import os
import re

BASE_US = 1_700_000_000_000_000
THREAD = re.compile(r"PP rank (\d+)")
COLLECTIVE = {"params-all-gather": "_allgather_base", "grads-reduce-scatter": "_reduce_scatter_base",
              "embedding-grads-all-reduce": "allreduce", "optimizer-clip-main-grad": "allreduce"}
KERNEL = {"_allgather_base": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
          "_reduce_scatter_base": "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
          "allreduce": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
          "send": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
          "recv": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"}


COMPUTE = {"layernorm-grads-all-reduce": "layernorm-grads"}  # of a group of one rank: nothing is exchanged
SCATTER_US = 200.0  # by so much the timers of operations that follow each other disagree
LAUNCH_US = 5.0  # from a launch to the begin of what it launches, at least
ISSUE_US = 200.0  # from one launch to the next


class Job:
    def __init__(self, dp, pp):
        self.dp, self.pp = dp, pp

    def rank(self, stage, replica):
        return stage * self.dp + replica

    def group(self, name, stage, replica):
        """Name and members of the communicator that an operation runs on."""
        if name in ("params-all-gather", "grads-reduce-scatter"):
            return f"dp{stage}", "mesh_dp", [self.rank(stage, d) for d in range(self.dp)]
        if name == "embedding-grads-all-reduce":
            return f"embedding{replica}", "embedding", [self.rank(0, replica), self.rank(self.pp - 1, replica)]
        if name == "optimizer-clip-main-grad":
            return "world", "default_pg", list(range(self.dp * self.pp))
        return f"pp{replica}", "mesh_pp", [self.rank(p, replica) for p in range(self.pp)]

    def peer(self, name, stage, replica):
        ahead = name in ("forward-send", "backward-recv")
        return self.rank((stage + (1 if ahead else -1)) % self.pp, replica)


def args_of(job, name, stage, replica):
    if name in COLLECTIVE:
        kind = COLLECTIVE[name]
    elif name.endswith("-send") or name.endswith("-recv"):
        kind = name.rsplit("-", 1)[1]
    else:
        return None, {}
    group, desc, members = job.group(name, stage, replica)
    if len(members) < 2:
        return None, {}
    args = {"Collective name": kind, "Process Group Name": group, "Process Group Description": desc,
            "Process Group Ranks": str(members), "Group size": len(members), "dtype": "Float"}
    if kind == "send":
        args["Dst Rank"] = job.peer(name, stage, replica)
    if kind == "recv":
        args["Src Rank"] = job.peer(name, stage, replica)
    return KERNEL[kind], args


def read(path, first_steps):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = json.load(file)
    threads = {(r["pid"], r["tid"]): r["args"]["name"] for r in rows if r["ph"] == "M" and r["name"] == "thread_name"}
    steps = sorted({r["args"]["step"] for r in rows if r["ph"] == "X"})[:first_steps or None]
    by_thread = collections.defaultdict(list)
    for row in rows:
        if row["ph"] == "X" and row["dur"] > 0 and row["args"]["step"] in set(steps):
            by_thread[(row["pid"], row["tid"])].append(row)
    # The names of the threads of one process stand for all.
    names = {tid: name for (_, tid), name in threads.items()}
    return by_thread, names


def begin_when_ready(job, stage, replica, rows):
    """The timelines note a transfer from when both sides are there. A kernel starts once its own side is: at the end of
    what the worker did before in that step. Gives (begin, row) in order."""
    ready = {}
    out = []
    for row in sorted(rows, key=lambda r: (r["ts"], -r["dur"])):
        step, begin = row["args"]["step"], row["ts"]
        if args_of(job, row["name"], stage, replica)[0]:
            ended = [end for end in ready.get(step, []) if end <= min(begin + SCATTER_US, row["ts"] + row["dur"])]
            begin = max(ended, default=begin)
        ready.setdefault(step, []).append(row["ts"] + row["dur"])
        out.append((begin, row))
    return sorted(out, key=lambda item: item[0])


class Streams:
    """A worker's operations follow each other; what runs beside another one has a stream of its own. A stream is in
    order: an operation recorded as ending just after the next has begun ends there."""

    def __init__(self):
        self.last = []

    def put(self, start, end):
        for stream, entry in enumerate(self.last):
            if entry["end"] <= start + SCATTER_US and entry["start"] < start:
                entry["end"] = min(entry["end"], start)
                break
        else:
            stream = len(self.last)
            self.last.append(None)
        self.last[stream] = entry = {"stream": stream, "start": start, "end": end}
        return entry


class Host:
    """The timelines have no launches. All of a step is launched from its begin on, so that no host holds a device up."""

    def __init__(self):
        self.step, self.last = None, 0.0

    def launch(self, step, start):
        self.last = start - LAUNCH_US if step != self.step else min(self.last + ISSUE_US, start - LAUNCH_US)
        self.step = step
        return self.last


def trace(job, stage, replica, rows):
    rank = job.rank(stage, replica)
    events = []
    streams = Streams()
    spans = collections.defaultdict(list)
    operations = [(streams.put(start, row["ts"] + row["dur"]), row) for start, row in begin_when_ready(job, stage, replica, rows)]
    host = Host()
    for number, (place, row) in enumerate(operations):
        start, end = place["start"], place["end"]
        name, args = args_of(job, row["name"], stage, replica)
        spans[row["args"]["step"]].append((start, end))
        events.append({"ph": "X", "cat": "kernel", "name": name or COMPUTE.get(row["name"], row["name"]), "pid": 0, "tid": 7 + place["stream"],
                       "ts": round(BASE_US + start, 3), "dur": round(end - start, 3),
                       "args": {"device": 0, "stream": 7 + place["stream"], "correlation": number + 1, **args}})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1000 + rank, "tid": 1,
                       "ts": round(BASE_US + host.launch(row["args"]["step"], start), 3), "dur": 1, "args": {"correlation": number + 1}})
    for step, times in spans.items():
        begin, end = min(t[0] for t in times), max(t[1] for t in times)
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1000 + rank, "tid": 1,
                       "ts": round(BASE_US + begin - 2 * LAUNCH_US, 3), "dur": round(end - begin, 3)})
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": job.dp * job.pp}, "traceEvents": events}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("timeline")
    parser.add_argument("out")
    parser.add_argument("--dp", type=int, required=True, help="data parallel workers of a stage")
    parser.add_argument("--pp", type=int, required=True)
    parser.add_argument("--steps", type=int, help="only the first so many")
    args = parser.parse_args()
    job = Job(args.dp, args.pp)
    by_thread, names = read(args.timeline, args.steps)
    rows = collections.defaultdict(list)
    processes = sorted({pid for pid, _ in by_thread})
    for (pid, tid), thread_rows in by_thread.items():
        rows[(int(THREAD.search(names[tid]).group(1)), processes.index(pid))] += thread_rows
    os.makedirs(args.out, exist_ok=True)
    for (stage, replica), ops in sorted(rows.items()):
        path = os.path.join(args.out, f"rank{job.rank(stage, replica)}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace(job, stage, replica, ops), file)


if __name__ == "__main__":
    main()
