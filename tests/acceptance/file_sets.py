"""Sets of trace files as people have them, made from the traces of a simulated run whose late rank is known.

Each change takes the folder, a random generator and the scene, and says in the scene what a right answer may be.
"""
import copy
import glob
import gzip
import json
import os
import random
import shutil

from support import run, simulate


class Scene:
    """A simulated run with one late rank, in a folder of files rank{r}.json.gz."""

    def __init__(self, folder, seed):
        self.folder = folder
        self.rng = random.Random(seed)
        self.ranks = self.rng.choice([2, 4, 4, 8])
        self.late = self.rng.randrange(self.ranks)
        self.hosts = self.rng.choice([1, 1, 2]) if self.ranks > 2 else 1
        factor = self.rng.choice([1.6, 2.0, 3.0])
        program = self.rng.choice([["decode", "--tp", self.ranks], ["decode", "--tp", self.ranks], ["train", "--tp", 1, "--dp", self.ranks]])
        ids = self.rng.choice(["full", "groups", "names"])
        self.tells_world = ids != "names"  # the traces say which rank of how many they are of
        simulate(folder, "--program", *program, "--hosts", self.hosts, "--steps", 30, "--layers", 4, "--ids", ids,
                 "--cause", f"slow_gpu:rank={self.late},factor={factor}", "--seed", self.rng.randrange(8))
        for path in glob.glob(os.path.join(folder, "truth*")) + glob.glob(os.path.join(folder, "instances*")):
            os.remove(path)
        self.present = set(range(self.ranks))  # ranks whose file holds what ran on the device
        self.copied = set()  # ranks that have a copy of it besides
        self.shifted = False  # some clocks are far off
        self.changes = []

    def path(self, rank):
        return os.path.join(self.folder, f"rank{rank}.json.gz")

    def pick(self):
        return self.rng.choice(sorted(self.present))

    def has(self, rank):
        return rank in self.present or rank in self.copied


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        return json.load(file)


def store(trace, path):
    with (gzip.open if path.endswith(".gz") else open)(path, "wt") as file:
        json.dump(trace, file)


def remove_file(scene):
    if len(scene.present) > 1:
        rank = scene.pick()
        os.remove(scene.path(rank))
        scene.present.discard(rank)


def unpack_beside(scene):
    rank = scene.pick()
    path = scene.path(rank)
    scene.copied.add(rank)
    with gzip.open(path, "rb") as packed, open(path[:-3], "wb") as plain:
        shutil.copyfileobj(packed, plain)


def add_counters(scene):
    rank = scene.pick()
    trace = load(scene.path(rank))
    first = min(event["ts"] for event in trace["traceEvents"] if "ts" in event)
    trace["traceEvents"] += [{"ph": "C", "name": "Queue Length", "pid": 0, "ts": first + i, "args": {"length": i % 7}}
                             for i in range(200)]
    store(trace, os.path.join(scene.folder, f"rank{rank}_with_counters.json.gz"))
    scene.copied.add(rank)


def copy_elsewhere(scene):
    rank = scene.pick()
    os.makedirs(os.path.join(scene.folder, "backup"), exist_ok=True)
    shutil.copy(scene.path(rank), os.path.join(scene.folder, "backup", f"copy_of_{rank}.json.gz"))
    scene.copied.add(rank)


def labelled(scene, ranks):
    """One trace of several ranks, its process ids labelled as SGLang does."""
    merged = None
    for rank in ranks:
        trace = load(scene.path(rank))
        for event in trace["traceEvents"]:
            event["pid"] = f"[TP{rank:02}] {event['pid']}"
        if merged is None:
            merged = copy.deepcopy(trace)
        else:
            merged["traceEvents"] += trace["traceEvents"]
    return merged


def merge_beside(scene):
    ranks = sorted(scene.present)
    store(labelled(scene, ranks), os.path.join(scene.folder, "merged.trace.json.gz"))
    scene.copied |= set(ranks)


def merge_alone(scene):
    ranks = sorted(scene.present)
    merged = labelled(scene, ranks)
    for rank in ranks:
        os.remove(scene.path(rank))
    store(merged, os.path.join(scene.folder, "merged.trace.json.gz"))


def truncate(scene):
    path = scene.path(scene.pick())
    with open(path, "r+b") as file:
        file.truncate(int(os.path.getsize(path) * scene.rng.uniform(0.3, 0.95)))


def rename(scene):
    """Names that tell no rank: the metadata does."""
    for rank in sorted(scene.present):
        os.rename(scene.path(rank), os.path.join(scene.folder, f"node_{7000 + rank}.1767189312.pt.trace.json.gz"))


def shift_host(scene):
    """The clock of some ranks is hours off, as that of another host may be."""
    seconds = scene.rng.choice([1.5, 90, 7200])
    half = sorted(scene.present)[len(scene.present) // 2:]
    for rank in half:
        trace = load(scene.path(rank))
        trace["baseTimeNanoseconds"] += int(seconds * 1e9)
        trace["host_name"] = "other"
        store(trace, scene.path(rank))
    scene.shifted = True


def add_front_end(scene):
    trace = load(scene.path(scene.pick()))
    trace["traceEvents"] = [event for event in trace["traceEvents"] if event.get("cat") in ("cpu_op", "user_annotation")]
    trace.pop("distributedInfo", None)
    store(trace, os.path.join(scene.folder, "node_9000.async_llm.pt.trace.json.gz"))


def strip_device_rows(scene):
    """A rank whose profiler recorded nothing of its device."""
    rank = scene.pick()
    trace = load(scene.path(rank))
    trace["traceEvents"] = [event for event in trace["traceEvents"]
                            if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset")]
    store(trace, scene.path(rank))
    scene.present.discard(rank)


def strip_collectives(scene):
    """A rank whose trace lacks all rows of its communication, as one whose end was lost."""
    rank = scene.pick()
    trace = load(scene.path(rank))
    trace["traceEvents"] = [event for event in trace["traceEvents"] if "nccl" not in event.get("name", "")]
    store(trace, scene.path(rank))
    scene.present.discard(rank)


def add_earlier_capture(scene):
    """The same ranks, recorded an hour before: the last capture is analysed."""
    earlier = random.Random(scene.rng.random())
    for rank in sorted(scene.present):
        trace = load(scene.path(rank))
        trace["baseTimeNanoseconds"] -= 3_600_000_000_000
        for event in trace["traceEvents"]:
            if event.get("cat") == "kernel":
                event["dur"] = round(event["dur"] * earlier.uniform(0.9, 0.99), 3)
        store(trace, os.path.join(scene.folder, f"earlier_rank{rank}.json.gz"))


# What ends in names that the other changes do not find comes last, and only one of it.
CHANGES = [remove_file, unpack_beside, add_counters, copy_elsewhere, truncate, shift_host, add_front_end,
           strip_device_rows, strip_collectives, add_earlier_capture, merge_beside]
LAST = [None, None, None, rename, merge_alone]


def draw(folder, seed):
    """A random set of files; deterministic in the seed."""
    scene = Scene(folder, seed)
    changes = scene.rng.sample(CHANGES, scene.rng.randrange(1, 4))
    changes.sort(key=lambda change: change is truncate)  # nothing else can be made of a broken file
    for change in changes:
        # Recordings of one rank at two times, of which one is shifted or cut, are captures of their own.
        if not scene.present or (change is add_earlier_capture and scene.changes):
            continue
        scene.changes.append(change.__name__)
        change(scene)
        if change is add_earlier_capture:
            return scene
    last = scene.rng.choice(LAST)
    if last is not None and all(os.path.exists(scene.path(rank)) for rank in scene.present) and \
            not {"truncate", "add_earlier_capture", "shift_host"} & set(scene.changes):
        scene.changes.append(last.__name__)
        last(scene)
    return scene


def is_of(row, scene):
    """Whether a rank of the report is the late one. A number that is assumed, as the report says, counts for nothing: then its file tells."""
    if row["rank_source"] != "assumed":
        return row["rank"] == scene.late
    return any(name in row["path"] for name in (str(7000 + scene.late), f"copy_of_{scene.late}."))


def contradiction(scene):
    """Why the headline of the set is wrong, or "". Silence and doubt are never wrong."""
    done = run("lockstep", "analyze", scene.folder, "--view", "summary,ranks", "--format", "json")
    if len(done.stderr) > 4096:
        return f"{len(done.stderr)} bytes of messages"
    if done.returncode == 2:
        # Without all ranks of the world, said to be so, there is nothing but the clocks to say whether these are one run.
        there = [scene.has(rank) for rank in range(scene.ranks)]
        one_world = all(there) and scene.tells_world
        return "" if not any(there) or (scene.shifted and not one_world) else f"refused: {done.stderr[:300]}"
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr[:300]}"
    report = json.loads(done.stdout)
    summary = report["summary"]
    doubt = summary["unresolved"] is not None and summary["unresolved"]["leads"]
    # The first sentence says that a rank has no kernels, so that waiting cannot be told.
    doubt = doubt or any(problem["gate"] == "kernels_present" for problem in summary["problems"])
    # It says that it speaks of these ranks only, and that there may be more.
    doubt = doubt or summary["ranks_assumed_all"]
    named = summary["culprits"][0] if summary["culprits"] else None
    if report["run"]["ranks"] > scene.ranks:
        return f"{report['run']['ranks']} ranks of {scene.ranks}"
    if named is not None:
        right = scene.has(scene.late) and any(is_of(row, scene) for row in report["ranks"] if row["rank"] in named["ranks"])
        return "" if right or named["confidence"] < 0.8 else f"certain about {named['scope']} {named['id']}"
    if doubt or report["run"]["ranks"] < 2 or summary["verdict"] in ("inconclusive", "skew"):
        return ""
    return f"nobody, and {summary['verdict']}"
