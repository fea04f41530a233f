"""Whole answers: of files, and of stored runs."""
import json
import os
import shutil
import subprocess

from figures.bench import ROOT, less, median, median_run, more, row

DLRM = os.path.join(ROOT, "..", "shared", "data", "kineto", "param_dlrm_8rank_v100", "kineto")
# HolisticTraceAnalysis loaded eight ranks of this size in 82 s, where baseline_pandas.py takes 15.1 s.
HTA_OF_BASELINE = 82 / 15.1


def dlrm_cold(bench):
    """`analyze` of eight real DLRM ranks, a process each time."""
    if not os.path.isdir(DLRM):
        return None
    done = median_run(11, lambda: bench.run("lockstep", "analyze", DLRM, "--view", "summary", "--format", "json"))
    if done.json()["run"]["ranks"] != 8:
        raise SystemExit("the DLRM ranks were not all read")
    return row(f"{done.wall_s:.3f} s", done.wall_s / 0.15, "<= 0.15 s", done.wall_s <= 0.15, raw=done.figures(),
               wall_s=less(done.wall_s, "time"))


def eight_ranks(bench):
    """`analyze` of eight ranks of 208 MB each, a complete answer, against what HTA would take to load them."""
    files = bench.simulate("eight", "--program", "decode", "--tp", "8", "--hosts", "1", "--gpus-per-host", "8", "--layers", "80", "--steps",
                           "6" if bench.quick else "58", "--ids", "groups", "--stacks")
    done = median_run(3, lambda: bench.run("lockstep", "analyze", *files, "--format", "json"))
    if done.json()["run"]["ranks"] != 8:
        raise SystemExit("not all ranks were read")
    base = json.loads(subprocess.run([os.path.join(ROOT, "bench", "baseline_pandas.py"), *files], check=True, stdout=subprocess.PIPE,
                                     text=True).stdout)
    times = base["wall_s"] * HTA_OF_BASELINE / done.wall_s
    memory = base["peak_mib"] / done.peak_mib
    return row(f"{done.wall_s:.2f} s", times, ">= 40, 20 x", times >= 40 and memory >= 20,
               f"pandas {base['wall_s']:.1f} s, {base['peak_mib']:.0f} MiB; here {done.peak_mib:.0f} MiB",
               {"baseline": base, "memory_ratio": memory, **done.figures()}, times_faster=more(times, "ratio"),
               times_smaller=more(memory, "ratio"))


def fleet(bench, ranks, instances, ids, layers=80):
    """A decode of `ranks`, eight a host, of about that many instances a rank."""
    tp = 8
    steps = max(2, round(instances / (2 * layers + 1)))
    name = f"fleet-{ranks}-{steps}-{ids}" + ("" if layers == 80 else f"-{layers}")
    return bench.stored(name, "--program", "decode", "--tp", str(tp), "--dp", str(ranks // tp), "--hosts", str(ranks // tp), "--layers",
                        str(layers), "--steps", str(steps), "--ids", ids, "--cause", "late_host:rank=3,us=300,p=0.02", "--clock",
                        "offset_ms=5,drift_ppm=5")


def run_of(store):
    return os.path.basename(store)[:-len(".db")]


def analyse(bench, store):
    """The summary of a stored run that nobody asked about before."""
    fresh = bench.path("fresh.db")
    shutil.copyfile(store, fresh)
    done = bench.run("lockstep", "show", run_of(store), "--store", fresh, "--format", "json")
    return fresh, done


def instances_of(bench, store):
    done = bench.run("lockstep", "show", run_of(store), "--store", store, "--view", "ranks", "--format", "json")
    return sum(rank["collectives"] for rank in done.json()["ranks"])


def stored_view(bench):
    """The slowest view of an analysed stored run."""
    ranks = 64 if bench.quick else 1024
    fresh, _ = analyse(bench, fleet(bench, ranks, 500, "full"))
    run = f"fleet-{ranks}-3-full"
    views = ["summary", "ranks", "quality", "kernels", "families", "collectives", "skew", "overlap", "imbalance", "tails", "idle", "host",
             "launches", "nvtx", "memory", "steps", "pace", "clock", "stragglers", "findings"]
    walls = {view: median_run(3, lambda v=view: bench.run("lockstep", "show", run, "--store", fresh, "--view", v)).wall_s for view in views}
    slowest = max(walls, key=walls.get)
    return row(f"{walls[slowest]:.3f} s", walls[slowest] / 0.3, "<= 0.3 s", walls[slowest] <= 0.3, f"{slowest}, of {ranks} ranks", walls,
               wall_s=less(walls[slowest], "time"))


CHAPTERED = 4 << 20  # instances from which on a run is analysed in chapters


def scale(bench, ranks, ids, target, seconds, sizes, layers=80):
    """The first summary of that many ranks: three sizes (instances a rank), and what the target of instances would take. Where the two
    largest are analysed in chapters, each further instance takes the time and the memory that it took between these two: chapters do not
    grow with the run, sums over it a little; else both at the rate of the largest."""
    stores = [fleet(bench, ranks, instances, ids, layers) for instances in sizes]
    counts = [instances_of(bench, store) for store in stores]
    os.sync()
    # In turn: what slows the machine down for a while must not look like what an instance takes.
    rounds = [[analyse(bench, store)[1] for store in stores] for _ in range(3)]
    points = [{"instances": count, **median(runs).figures()} for count, runs in zip(counts, zip(*rounds))]
    before, last = points[-2:]

    def further(figure):
        if before["instances"] <= CHAPTERED:
            return last[figure] / last["instances"]
        return max(0, (last[figure] - before[figure]) / (last["instances"] - before["instances"]))

    rate = further("wall_s")
    wall = last["wall_s"] + rate * (target - last["instances"])
    peak_gib = (last["peak_mib"] + further("peak_mib") * (target - last["instances"])) / 1024
    held = wall <= seconds and peak_gib <= 4
    rates = ", ".join(f"{p['wall_s'] / p['instances'] * 1e6:.2f}" for p in points)
    return row(f"{wall:.0f} s {peak_gib:.1f} GiB", wall / seconds, f"<= {seconds} s", held,
               f"us a row at {ranks} ranks: {rates}; each further one {rate * 1e6:.2f}", points, wall_s=less(wall, "time"),
               peak_gib=less(peak_gib, "memory"))


def analysis_ids(bench):
    """1,024 ranks x 50,000 instances with ids, from as many ranks of fewer."""
    return scale(bench, 32 if bench.quick else 1024, "full", 1024 * 50_000, 25, (350, 1400, 5600) if bench.quick else (2000, 10_000, 30_000))


def analysis_names(bench):
    """The same by names only: hosts are sought among all hosts."""
    return scale(bench, 64 if bench.quick else 1024, "names", 1024 * 50_000, 60, (350, 700, 1400) if bench.quick else (2800, 8400, 16_800))


def analysis_wide(bench):
    """4,096 ranks x 10,000 instances with ids, from as many ranks of fewer."""
    return scale(bench, 128 if bench.quick else 4096, "full", 4096 * 10_000, 60, (162, 324, 486) if bench.quick else (2025, 3240, 6480), 40)


def ingest(bench):
    """Collective instances from the wire to durable blocks of a store, two streams, against decoding alone: median of three. What was
    written before must be on the disk: each commit waits for it too."""
    store = fleet(bench, 64 if bench.quick else 128, 5000, "full")
    command = [bench.binary("lockstep-bench-ingest"), store, run_of(store), "--copies", "2" if bench.quick else "8"]
    os.sync()
    runs = [json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout) for _ in range(3)]
    got = sorted(runs, key=lambda run: run["put_m_per_s"])[1]
    rate = got["put_m_per_s"]
    return row(f"{rate:.2f} M/s", rate / 5, ">= 5 M/s", rate >= 5, f"{got['decode_m_per_s']:.1f} M/s decoded", runs,
               m_per_s=more(rate, "time"))


def threads(bench):
    """One thread and as many as there are cores give the same bytes."""
    files = bench.simulate("threads", "--program", "train", "--tp", "4", "--dp", "2", "--hosts", "2", "--steps", "8")
    flags = ("analyze", *files, "--view", "all", "--format", "json")
    cores = os.sched_getaffinity(0)
    many = bench.run("lockstep", *flags).text
    os.sched_setaffinity(0, {min(cores)})
    try:
        one = bench.run("lockstep", *flags, "--jobs", "1").text
    finally:
        os.sched_setaffinity(0, cores)
    same = one == many
    return row("same" if same else "differ", 1 if same else 0, "same", same)


FIGURES = {"dlrm_cold": dlrm_cold, "eight_ranks": eight_ranks, "stored_view": stored_view, "analysis_ids": analysis_ids,
           "analysis_names": analysis_names, "analysis_wide": analysis_wide, "ingest": ingest, "threads": threads}
