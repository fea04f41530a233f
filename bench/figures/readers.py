"""Trace files to condensed batches: speed, memory, size."""
import json
import os
import subprocess

from figures.bench import ROOT, less, more, row


def decode(bench, steps, *flags):
    return bench.simulate(f"decode-{steps}-{'-'.join(flags).strip('-')}", "--program", "decode", "--tp", "2", "--hosts", "1",
                          "--gpus-per-host", "2", "--layers", "80", "--steps", str(steps), "--ids", "groups", *flags)[0]


def condense(bench, path, *flags):
    done = subprocess.run([bench.binary("lockstep-bench-readers"), *flags, path], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)[0]


def speed(bench, path):
    got = condense(bench, path)
    rate = got["bytes"] / got["condense_cpu_s"] / 1e6
    limit = f"{got['bytes'] / got['limit_cpu_s'] / 1e6:.0f} MB/s ({got['limit']})"
    return row(f"{rate:.0f} MB/s", got["ratio"], ">= 0.6", got["ratio"] >= 0.6, limit, got,
               ratio_to_limit=more(got["ratio"], "ratio"))


def kineto_json(bench):
    """Kineto .json to condensed batches, CPU time against a simdjson walk of the same windows reading all arguments."""
    return speed(bench, decode(bench, 8 if bench.quick else 60, "--format", "kineto", "--no-gzip", "--stacks"))


def kineto_gz(bench):
    """The same from .json.gz."""
    return speed(bench, decode(bench, 8 if bench.quick else 60, "--format", "kineto", "--stacks"))


def nsys(bench):
    """nsys export of 10 M kernels and as many runtime calls to condensed batches, against raw SELECTs of the columns used in all tables
    read."""
    return speed(bench, decode(bench, 60 if bench.quick else 5200, "--format", "nsys"))


def nsys_ranges(bench):
    """The same of an export that is mostly NVTX ranges."""
    return speed(bench, decode(bench, 30 if bench.quick else 700, "--format", "nsys", "--host-rows", "12"))


def agent_memory(bench):
    """Peak resident memory of an agent while it condenses a large trace, the larger of both formats."""
    out = bench.path("agent_memory.json")
    sizes = ["--kineto-bytes", "100000000", "--nsys-bytes", "200000000"] if bench.quick else []
    subprocess.run([os.path.join(ROOT, "bench", "agent_memory"), "--build", bench.build, "--json", out, *sizes],
                   stdout=subprocess.DEVNULL, check=False)
    with open(out, encoding="utf-8") as file:
        rows = json.load(file)
    peak, budget = max(r["peak_mib"] for r in rows), rows[0]["budget_mib"]
    return row(f"{peak} MiB", peak / budget, f"<= {budget} MiB", all(r["held"] for r in rows), raw=rows,
               **{f"{r['format']}_peak_mib": less(r["peak_mib"], "memory") for r in rows})


def wire(bench, path, share):
    """Encoded batches of a trace, against the bytes of the trace."""
    got = condense(bench, path, "--repeats", "1")
    times = got["bytes"] / got["wire_bytes"]
    return row(f"1/{times:.0f}", times / share, f"<= 1/{share}", times >= share, f"{got['bytes'] / 1e6:.0f} MB of trace", got,
               times_smaller=more(times, "bytes"))


def wire_decode_json(bench):
    """Condensed bytes of a decode with kernel-level graphs, Kineto."""
    return wire(bench, decode(bench, 8 if bench.quick else 60, "--format", "kineto", "--no-gzip", "--stacks"), 300)


def wire_decode_nsys(bench):
    """The same, nsys."""
    return wire(bench, decode(bench, 60 if bench.quick else 700, "--format", "nsys"), 100)


def training(bench, steps):
    """One rank of a training with stacks, of 4.75 MB a step. A kernel has 6.0 kB of trace, 11 operators and 7 Python frames (real traces
    with stacks: 4.1 to 18.5 kB, 3 to 6, 3 to 20); 18 % of the kernels are collectives (real ones: up to 3 %)."""
    files = bench.simulate(f"train-{steps}", "--program", "train", "--tp", "2", "--dp", "2", "--hosts", "1", "--gpus-per-host", "4",
                           "--layers", "32", "--steps", str(steps), "--host-rows", "12", "--no-gzip", "--stacks")
    for other in files[1:]:
        os.remove(other)
    return files[0]


def wire_training(bench):
    """Condensed bytes of a training with stacks: of 114 MB, and beside it what 257 MB give."""
    if bench.quick:
        return wire(bench, training(bench, 4), 1000)
    figure = wire(bench, training(bench, 24), 1000)
    larger = condense(bench, training(bench, 54), "--repeats", "1")
    figure["limit"] += f"; 1/{larger['bytes'] / larger['wire_bytes']:.0f} of {larger['bytes'] / 1e6:.0f} MB"
    figure["raw"] = [figure["raw"], larger]
    return figure


FIGURES = {"kineto_json": kineto_json, "kineto_gz": kineto_gz, "nsys": nsys, "nsys_ranges": nsys_ranges, "agent_memory": agent_memory,
           "wire_decode_json": wire_decode_json, "wire_decode_nsys": wire_decode_nsys, "wire_training": wire_training}
