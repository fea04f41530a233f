"""What --steps, --time, --nvtx, --ranks and --kernels leave, against a naive reading of the traces.

On files every view holds exactly what was asked for; on a stored run the views say in `notices` what is snapped.
"""
import collections
import decimal
import glob
import gzip
import itertools
import json
import os
import random
import re
import shutil
import sqlite3
import unittest

from support import DATA, TempDirTest, analyze, needs_traces, nsys_export, run, simulate, string_ids

KINETO = os.path.join(DATA, "kineto")
DLRM = os.path.join(KINETO, "param_dlrm_8rank_v100", "kineto")
(NCCL,) = glob.glob(os.path.join(KINETO, "single_rank_hta", "nccl_parser_config*")) or [""]
(CONTROL,) = glob.glob(os.path.join(KINETO, "single_rank_hta", "trace_diff_control*")) or [""]
NSYS = os.path.join(DATA, "nsys", "nsys_ai_fixtures", "mfu_2gpu_before.sqlite")
MS = 1_000_000

Event = collections.namedtuple("Event", "kind name start end correlation tid")


def ns(value):
    return int(decimal.Decimal(value) * 1000)


def read(path):
    """Device activities, calls and annotations of a Kineto trace."""
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")
    with opened as file:
        document = json.load(file, parse_float=decimal.Decimal)
    kinds = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "copy", "cuda_runtime": "call", "cuda_driver": "call",
             "user_annotation": "range"}
    events = []
    for event in document["traceEvents"]:
        kind = kinds.get(str(event.get("cat", "")).lower())
        if kind and event.get("ph") == "X":
            start = ns(event["ts"])
            events.append(Event(kind, event["name"], start, start + ns(event["dur"]), event.get("args", {}).get("correlation"), event.get("tid")))
    return events


def without_field(message, left_out):
    """A protobuf message of numbers and bytes without one of its fields."""
    def varint(at):
        value = shift = 0
        while True:
            value |= (message[at] & 0x7f) << shift
            at, shift = at + 1, shift + 7
            if message[at - 1] < 0x80:
                return value, at
    at, kept = 0, b""
    while at < len(message):
        begin = at
        key, at = varint(at)
        value, at = varint(at)
        at += value if key & 7 == 2 else 0
        kept += b"" if key >> 3 == left_out else message[begin:at]
    return kept


def is_comm(name):
    return name.startswith("nccl")


def union(intervals):
    total, reached = 0, None
    for start, end in sorted(intervals):
        total += max(0, end - max(start, reached if reached is not None else start))
        reached = end if reached is None else max(reached, end)
    return total


def by_name(events):
    found = collections.defaultdict(list)
    for event in events:
        found[event.name].append(event.end - event.start)
    return {name: [len(lengths), sum(lengths), min(lengths), max(lengths)] for name, lengths in found.items()}


def rows_by_name(rows, name, count):
    return {r[name]: [r[count], r["total_ns"], r["duration_ns"]["min"], r["duration_ns"]["max"]] for r in rows}


def total(rows):
    return sum(row["total_ns"] for row in rows)


class Exact(TempDirTest):
    def check(self, report, device, calls):
        kernels = [e for e in device if e.kind == "kernel"]
        copies = [e for e in device if e.kind == "copy"]
        self.assertGreater(len(kernels), 10)
        self.assertEqual(rows_by_name(report["kernels"], "name", "instances"), by_name(kernels))
        self.assertEqual(rows_by_name(report["host"], "api", "calls"), by_name(calls))
        self.assertEqual(sum(row["operations"] for row in report["memory"]), len(copies))
        self.assertEqual(total(report["memory"]), sum(e.end - e.start for e in copies))
        self.assertEqual(sum(row["count"] for row in report["launches"]), sum(1 for e in kernels if e.correlation is not None))
        self.assertEqual(total(report["families"]), total(report["kernels"]))
        self.assertEqual([n for n in report["notices"] if n["view"] in ("kernels", "host", "memory", "idle", "overlap", "launches")], [])


VIEWS = "kernels,families,host,memory,launches,nvtx,overlap,idle,steps"


@needs_traces
class Steps(Exact):
    def test_a_step_holds_what_is_launched_in_it(self):
        for path, first, last in ((NCCL, 5, 5), (CONTROL, 1010, 1012)):
            with self.subTest(path):
                events = read(path)
                spans = [(e.start, e.end) for e in events if e.kind == "range" and e.name in {f"ProfilerStep#{n}" for n in range(first, last + 1)}]
                inside = [e for e in events if any(a <= e.start < b for a, b in spans)]
                launched = {e.correlation for e in inside if e.kind == "call"}
                device = [e for e in events if e.kind in ("kernel", "copy") and e.correlation in launched]
                report = analyze(path, "--view", VIEWS, "--steps", f"{first}..{last}")
                self.check(report, device, [e for e in inside if e.kind == "call"])
                (overlap,), (idle,) = report["overlap"], report["idle"]
                self.assertEqual(overlap["compute_ns"], union((e.start, e.end) for e in device if e.kind == "kernel" and not is_comm(e.name)))
                self.assertEqual(overlap["comm_ns"], union((e.start, e.end) for e in device if is_comm(e.name)))
                span = max(e.end for e in device) - min(e.start for e in device)
                self.assertEqual(idle["idle_ns"], span - union((e.start, e.end) for e in device))
                self.assertAlmostEqual(idle["gap_ns"]["mean"] * idle["gaps"], idle["idle_ns"], delta=1e-6 * idle["idle_ns"])
                self.assertEqual([row["step"] for row in report["steps"]], list(range(first, last + 1)))
                ranges = {e.name: sum(x.end - x.start for x in inside if x.kind == "range" and x.name == e.name) for e in inside if e.kind == "range"}
                got = {row["range"]: row["total_ns"] for row in report["nvtx"]}
                self.assertEqual({name: got.get(name) for name in ranges}, ranges)


@needs_traces
class Time(Exact):
    def window(self, events, start, end):
        zero = min(e.start for e in events if e.kind in ("kernel", "copy"))
        return zero + start, zero + end

    def test_a_time_holds_what_starts_in_it_and_measures_what_lies_in_it(self):
        for path, start, end in ((NCCL, 120, 371), (CONTROL, 33, 190)):
            with self.subTest(path):
                events = read(path)
                a, b = self.window(events, start * MS, end * MS)
                inside = [e for e in events if a <= e.start < b]
                report = analyze(path, "--view", VIEWS, "--time", f"{start}ms..{end}ms")
                self.check(report, [e for e in inside if e.kind in ("kernel", "copy")], [e for e in inside if e.kind == "call"])
                clipped = [(max(e.start, a), min(e.end, b), e) for e in events if e.kind in ("kernel", "copy") and e.start < b and e.end > a]
                (overlap,), (idle,) = report["overlap"], report["idle"]
                compute = union((s, t) for s, t, e in clipped if e.kind == "kernel" and not is_comm(e.name))
                self.assertEqual((overlap["span_ns"], overlap["compute_ns"]), (b - a, compute))
                self.assertEqual(overlap["comm_ns"], union((s, t) for s, t, e in clipped if is_comm(e.name)))
                self.assertEqual(idle["idle_ns"], b - a - union((s, t) for s, t, _ in clipped))
                self.assertAlmostEqual(idle["gap_ns"]["mean"] * idle["gaps"], idle["idle_ns"], delta=1e-6 * idle["idle_ns"])
                parts = sum(overlap[k] for k in ("exposed_wait_ns", "exposed_transfer_ns", "exposed_unresolved_ns"))
                self.assertEqual(parts, overlap["exposed_comm_ns"])

    def test_of_several_ranks_the_time_counts_from_the_run_s_start(self):
        ranks = [read(path) for path in sorted(glob.glob(os.path.join(DLRM, "*.json")))]
        zero = min(e.start for events in ranks for e in events if e.kind in ("kernel", "copy"))
        report = analyze(DLRM, "--view", "kernels,overlap", "--time", "4ms..9ms500us")
        for rank, events in enumerate(ranks):
            a, b = zero + 4 * MS, zero + 9 * MS + MS // 2
            want = by_name(e for e in events if e.kind == "kernel" and a <= e.start < b)
            got = {row["name"]: r for row in report["kernels"] for r in row["by_rank"] if r["rank"] == rank}
            self.assertEqual({k: [r["instances"], r["total_ns"], r["min_ns"], r["max_ns"]] for k, r in got.items()}, want)
            compute = union((max(e.start, a), min(e.end, b)) for e in events
                            if e.kind == "kernel" and not is_comm(e.name) and e.start < b and e.end > a)
            self.assertEqual(report["overlap"][rank]["compute_ns"], compute)


class TimeAcrossClocks(TempDirTest):
    def test_times_one_after_the_other_hold_everything_once(self):
        traces = simulate(self.path("run"), "--program", "decode", "--tp", 4, "--hosts", 4, "--gpus-per-host", 1, "--layers", 4,
                          "--steps", 30, "--seed", 5, "--clock", "offset_ms=20,drift_ppm=8")
        whole = analyze(traces, "--view", "kernels,host,overlap,clock")
        self.assertGreater(max(abs(host["offset_ns"]) for host in whole["clock"]["hosts"]), MS)  # each host has a clock of its own
        third = max(row["span_ns"] for row in whole["overlap"]) // 3
        parts = [analyze(traces, "--view", "kernels,host,overlap", "--time", f"{a}ns..{b}ns")
                 for a, b in ((0, third), (third, 2 * third), (2 * third, 100 * third))]
        self.assertEqual(sum(row["instances"] for part in parts for row in part["kernels"]), sum(row["instances"] for row in whole["kernels"]))
        self.assertEqual(sum(total(part["kernels"]) for part in parts), total(whole["kernels"]))
        before = sum(row["calls"] for row in whole["host"]) - sum(row["calls"] for part in parts for row in part["host"])
        self.assertIn(before, range(1, 5))  # the calls that launched the first activity of the run lie before its start
        for key in ("span_ns", "compute_ns", "comm_ns", "idle_ns"):
            self.assertEqual(sum(row[key] for part in parts for row in part["overlap"]), sum(row[key] for row in whole["overlap"]), key)


def rows_of_file(path, query):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        return connection.execute(query).fetchall()


@needs_traces
class NsysTime(unittest.TestCase):
    def test_a_time_of_a_report_of_two_processes_holds_what_starts_in_it(self):
        activities = " UNION ALL ".join(f"SELECT start FROM CUPTI_ACTIVITY_KIND_{table}" for table in ("KERNEL", "MEMCPY", "MEMSET"))
        ((zero,),) = rows_of_file(NSYS, f"SELECT min(start) FROM ({activities})")
        report = analyze(NSYS, "--view", "kernels,host", "--time", "100ms..200ms")
        for view, table, count in (("kernels", "KERNEL", "instances"), ("host", "RUNTIME", "calls")):
            want = rows_of_file(NSYS, f"""SELECT count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_{table}
                WHERE start >= {zero + 100 * MS} AND start < {zero + 200 * MS}""")
            self.assertEqual([(sum(row[count] for row in report[view]), total(report[view]))], want)


@needs_traces
class Nvtx(TempDirTest):
    def oracle(self, text, path=NSYS, domain=None):
        """(kernel -> [count, total], calls, busy compute by device) inside the ranges, by thread and start of the call."""
        spans = collections.defaultdict(list)
        for tid, start, end in rows_of_file(path, f"""SELECT n.globalTid, n.start, n.end FROM NVTX_EVENTS AS n LEFT JOIN StringIds AS s ON s.id = n.textId
                WHERE n.eventType IN (59, 70) AND (coalesce(n.text, s.value) = '{text}' OR coalesce(n.text, s.value) LIKE '{text}, seq = %'
                OR coalesce(n.text, s.value) LIKE '{text}, op_id = %') {"" if domain is None else f"AND n.domainId = {domain}"}"""):
            spans[tid].append((start, end))
        calls, launched = 0, set()
        for tid, start, correlation in rows_of_file(path, "SELECT globalTid, start, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME"):
            if any(a <= start < b for a, b in spans[tid]):
                calls += 1
                launched.add((tid >> 24, correlation))
        kernels = collections.defaultdict(lambda: [0, 0])
        compute = collections.defaultdict(list)
        for pid, device, correlation, start, end, name in rows_of_file(path, """SELECT globalPid >> 24, deviceId, correlationId, k.start, k.end, s.value
                FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN StringIds AS s ON s.id = k.demangledName"""):
            if (pid, correlation) in launched:
                kernels[name] = [kernels[name][0] + 1, kernels[name][1] + end - start]
                if not is_comm(name):
                    compute[device].append((start, end))
        return dict(kernels), calls, {device: union(spans) for device, spans in compute.items()}

    def got(self, path, nvtx):
        report = analyze(path, "--view", "kernels,host,overlap,idle,launches", "--nvtx", nvtx)
        kernels = {row["name"]: [row["instances"], row["total_ns"]] for row in report["kernels"]}
        return report, kernels, sum(row["calls"] for row in report["host"])

    def test_ranges_hold_what_their_thread_launches_inside_them_however_nested(self):
        for text in ("aten::linear", "aten::to", "aten::copy_", "aten::contiguous", "aten::layer_norm"):
            with self.subTest(text):
                kernels, calls, compute = self.oracle(text)
                report, got, got_calls = self.got(NSYS, text)
                self.assertEqual(got, kernels)
                self.assertEqual(got_calls, calls)
                self.assertEqual(sum(row["count"] for row in report["launches"]), sum(n for n, _ in kernels.values()))
                busy = {row["rank"]: row["compute_ns"] for row in report["overlap"]}
                self.assertEqual(sorted(busy.values()), sorted(compute.values()))

    def test_a_domain_chooses_among_equal_names(self):
        # The fixture names no domain: the calls of aten::copy_ with an odd row id move into one of that name.
        path = self.path("domains.sqlite")
        shutil.copy(NSYS, path)
        with sqlite3.connect(path) as connection:
            connection.execute("""UPDATE NVTX_EVENTS SET domainId = 77 WHERE rowid % 2 = 1 AND
                coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) LIKE 'aten::copy!_%' ESCAPE '!'""")
            threads = [tid for (tid,) in connection.execute("SELECT DISTINCT globalTid FROM NVTX_EVENTS")]
            for tid in threads:
                connection.execute("INSERT INTO NVTX_EVENTS (start, eventType, domainId, text, globalTid) VALUES (0, 75, 77, 'torch', ?)", (tid,))
        everywhere, in_domain = self.oracle("aten::copy_", path)[:2], self.oracle("aten::copy_", path, 77)[:2]
        self.assertLess(sum(n for n, _ in in_domain[0].values()), sum(n for n, _ in everywhere[0].values()))
        self.assertEqual(self.got(path, "aten::copy_")[1:], everywhere)
        self.assertEqual(self.got(path, "torch:aten::copy_")[1:], in_domain)
        self.assertEqual(self.got(path, "aten::copy_@torch")[1:], in_domain)
        done = run("lockstep", "analyze", path, "--nvtx", "Other:aten::copy_")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no range 'Other:aten::copy_' launched anything", done.stderr)


class NestedRanges(TempDirTest):
    """Ranges that nest and overlap, launches that run late or have no row: against a naive reading."""

    def trace(self, seed, threads=(1, 2, 3), lost=0.05):
        chance = random.Random(seed)
        ranges, calls, kernels = [], [], []  # (tid, start, end), (tid, start, end, id), (start, end, id or None, name), all in us
        for _ in range(40):
            start = chance.randrange(0, 9_000)
            ranges.append((chance.choice((1, 2)), start, start + (chance.randrange(500, 5_000) if chance.random() < 0.3 else chance.randrange(5, 300))))
        for number in range(1, 401):
            at = chance.randrange(0, 9_800)
            late = chance.randrange(0, 3_000) if chance.random() < 0.2 else chance.randrange(5, 80)
            calls.append((chance.choice(threads), at, at + 3, number))
            name = chance.choice(("gemm_kernel", "elementwise_kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"))
            kernels.append((at + late, at + late + chance.randrange(1, 60), None if chance.random() < lost else number, name))
        events = [{"ph": "X", "cat": "user_annotation", "name": "work", "pid": 100, "tid": tid, "ts": a, "dur": b - a} for tid, a, b in ranges]
        events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": tid, "ts": a, "dur": b - a,
                    "args": {"correlation": number}} for tid, a, b, number in calls]
        for stream, (a, b, number, name) in enumerate(kernels):
            events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream % 5, "ts": a, "dur": b - a,
                           "args": {"device": 0, "stream": stream % 5} | ({} if number is None else {"correlation": number})})
        path = self.path(f"rank0_{seed}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)
        return path, ranges, calls, kernels

    def test_hold_what_their_thread_launched_in_every_view(self):
        for seed in range(6):
            with self.subTest(seed):
                path, ranges, calls, kernels = self.trace(seed)
                innermost = {}  # call -> place of the range begun last around it
                for tid, at, _, number in calls:
                    around = [(a, -b, i) for i, (owner, a, b) in enumerate(ranges) if owner == tid and a <= at < b]
                    if around:
                        innermost[number] = max(around)[2]
                inside = [k for k in kernels if k[2] in innermost]
                report = analyze(path, "--nvtx", "work", "--view", "summary,kernels,host,steps,overlap,idle,launches")
                names = collections.defaultdict(list)
                for a, b, _, name in inside:
                    names[name].append(b - a)
                self.assertEqual({r["name"]: (r["instances"], r["total_ns"]) for r in report["kernels"]},
                                 {name: (len(lengths), 1000 * sum(lengths)) for name, lengths in names.items()})
                self.assertEqual(sum(row["calls"] for row in report["host"]), len(innermost))
                self.assertEqual({(r["tid"], r["kernel"]): r["count"] for r in report["launches"]},
                                 dict(collections.Counter((calls[k[2] - 1][0], k[3]) for k in inside)))
                first = min(a for a, _, _, _ in kernels)
                spans = collections.defaultdict(list)
                for a, b, number, _ in inside:
                    spans[innermost[number]].append((a - first, b - first))
                self.assertEqual(sorted((row["first_start_ns"], row["last_end_ns"]) for row in report["steps"]),
                                 sorted((1000 * min(a for a, _ in s), 1000 * max(b for _, b in s)) for s in spans.values()))
                (overlap,), (idle,) = report["overlap"], report["idle"]
                span = max(b for _, b, _, _ in inside) - min(a for a, _, _, _ in inside)
                busy = union((a, b) for a, b, _, _ in inside)
                compute = union((a, b) for a, b, _, name in inside if not is_comm(name))
                self.assertEqual((overlap["span_ns"], overlap["compute_ns"], overlap["idle_ns"], idle["idle_ns"]),
                                 (1000 * span, 1000 * compute, 1000 * (span - busy), 1000 * (span - busy)))
                share = report["summary"]["time_share"]
                self.assertAlmostEqual(share["compute_ratio"], compute / span, places=8)
                lost = sum(1 for k in kernels if k[2] is None)
                reasons = " ".join(notice["reason"] for notice in report["notices"])
                self.assertIn(f"{lost:,} kernels and copies have no launch call", reasons)

    def steps_and_spans(self, ranges, calls, kernels):
        """Kernels of each range that launched some, by its place in host order, and the order of the ranges on the device."""
        order = sorted(range(len(ranges)), key=lambda i: (ranges[i][1], -ranges[i][2]))
        at_of = {number: (tid, at) for tid, at, _, number in calls}
        held = collections.defaultdict(list)
        for kernel in kernels:
            if kernel[2] is None:
                continue
            tid, at = at_of[kernel[2]]
            around = [(a, -b, i) for i, (owner, a, b) in enumerate(ranges) if owner == tid and a <= at < b]
            if around:
                held[order.index(max(around)[2])].append(kernel)
        return held, sorted(held, key=lambda place: min(a for a, _, _, _ in held[place]))

    def check_steps(self, report, first, last, held, on_device):
        inside = [k for place, ks in held.items() if first <= place <= last for k in ks]
        stretches = [list(group) for asked, group in itertools.groupby(on_device, lambda place: first <= place <= last) if asked]
        extents = [(min(a for place in s for a, _, _, _ in held[place]), max(b for place in s for _, b, _, _ in held[place])) for s in stretches]
        (overlap,) = report["overlap"]
        compute = [(a, b) for a, b, _, name in inside if not is_comm(name)]
        comm = [(a, b) for a, b, _, name in inside if is_comm(name)]
        busy = union(compute + comm)
        want = [union(extents), union(compute), union(comm), union(compute) + union(comm) - busy, union(extents) - busy]
        self.assertEqual([overlap[k] for k in ("span_ns", "compute_ns", "comm_ns", "overlap_ns", "idle_ns")], [1000 * v for v in want])
        if "kernels" in report:
            self.assertEqual(sum(row["instances"] for row in report["kernels"]), len(inside))
        if "idle" in report:
            self.assertEqual([row["idle_ns"] for row in report["idle"]], [1000 * want[-1]])
        self.assertEqual([n for n in report["notices"] if "interleaved" in n["reason"]], [])

    def test_steps_of_them_count_what_runs_once_however_they_nest(self):
        for seed in range(8):
            path, ranges, calls, kernels = self.trace(seed)
            held, on_device = self.steps_and_spans(ranges, calls, kernels)
            for first, last in ((0, 39), (0, 5), (20, 39), (17, 19), (9, 9)):
                with self.subTest((seed, first, last)):
                    report = analyze(path, "--nvtx", "work", "--steps", f"{first}..{last}", "--view", "overlap,kernels,idle")
                    self.check_steps(report, first, last, held, on_device)

    def test_steps_of_them_count_what_runs_once_of_a_stored_run_too(self):
        for seed, kind in ((0, "kineto"), (1, "nsys"), (2, "kineto"), (3, "nsys")):
            # Nothing that a stored run sees otherwise: launches of threads without such ranges, and without a call.
            path, ranges, calls, kernels = self.trace(seed, (1, 2), 0)
            if kind == "nsys":
                path = self.as_nsys(seed, ranges, calls, kernels)
            held, on_device = self.steps_and_spans(ranges, calls, kernels)
            store = ["--store", self.path(f"runs{seed}.db")]
            analyze(path, *store, "--run", "r", "--step-range", "work", "--view", "ranks")
            for first, last in ((0, 39), (0, 5), (20, 39), (17, 19), (9, 9)):
                with self.subTest((seed, first, last)):
                    done = run("lockstep", "show", "r", *store, "--nvtx", "work", "--steps", f"{first}..{last}", "--view", "overlap,idle", "--format", "json")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.check_steps(json.loads(done.stdout), first, last, held, on_device)
                    files = analyze(path, "--nvtx", "work", "--steps", f"{first}..{last}", "--view", "overlap,idle")
                    self.assertEqual(json.loads(done.stdout)["overlap"], files["overlap"])

    def test_steps_of_them_in_an_older_store_are_added_and_that_is_told(self):
        path, _, _, _ = self.trace(0, (1, 2), 0)
        store = ["--store", self.path("runs.db")]
        analyze(path, *store, "--run", "r", "--step-range", "work", "--view", "ranks")

        def shown():
            done = run("lockstep", "show", "r", *store, "--nvtx", "work", "--steps", "17..19", "--view", "overlap", "--format", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            return report["overlap"][0]["compute_ns"], [n for n in report["notices"] if "run interleaved" in n["reason"]]
        exact, told = shown()
        self.assertEqual(told, [])
        with sqlite3.connect(store[1]) as db:  # what was stored before overlaps were kept
            for source, row in db.execute("SELECT source, row FROM summary").fetchall():
                self.assertNotEqual(without_field(row, 8), row)
                db.execute("UPDATE summary SET row = ? WHERE source = ?", (without_field(row, 8), source))
            db.execute("DELETE FROM answer")
        added, told = shown()
        self.assertGreater(added, exact)
        self.assertEqual(len(told), 1)

    def as_nsys(self, seed, ranges, calls, kernels):
        path = self.path(f"rank0_{seed}.sqlite")
        with nsys_export(path) as db:
            name_of = string_ids(db)
            process = 100 << 24
            db.execute("CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, domainId INT, text TEXT, textId INT, globalTid INT)")
            db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, eventClass INT, globalTid INT, correlationId INT, nameId INT, returnValue INT)")
            db.execute("""CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT,
                globalPid INT, demangledName INT, shortName INT)""")
            for tid, a, b in ranges:
                db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, 0, 'work', NULL, ?)", (1000 * a, 1000 * b, process | tid))
            for tid, a, b, number in calls:
                db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0)",
                           (1000 * a, 1000 * b, process | tid, number, name_of("cudaLaunchKernel_v7000")))
            for stream, (a, b, number, name) in enumerate(kernels):
                db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, ?, ?, ?, ?, ?)",
                           (1000 * a, 1000 * b, stream % 5, number, process, name_of(name), name_of(name)))
        db.close()
        return path

    def test_of_one_rank_that_is_empty_take_no_collective_away(self):
        traces = simulate(self.path("run"), "--tp", 2, "--steps", 8, "--layers", 2, "--seed", 3)
        whole = analyze(traces, "--view", "collectives")["collectives"]
        for path in sorted(glob.glob(os.path.join(traces, "**", "*rank*"), recursive=True)):
            opened = gzip.open if path.endswith(".gz") else open
            with opened(path, "rt") as file:
                document = json.load(file)
            events = document["traceEvents"]
            calls = [e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver") and "Launch" in e["name"]]
            start, end = min(float(e["ts"]) for e in calls), max(float(e["ts"]) for e in calls)
            mark = {"ph": "X", "cat": "user_annotation", "name": "work", "pid": calls[0]["pid"], "tid": calls[0]["tid"]}
            events.append(mark | {"ts": start - 1, "dur": end - start + 10})
            if "rank1" in os.path.basename(path) or "rank_1" in os.path.basename(path) or "rank-1" in os.path.basename(path):
                events.append(mark | {"ts": start - 100, "dur": 50})
            with opened(path, "wt") as file:
                json.dump(document, file)
        asked = analyze(traces, "--nvtx", "work", "--view", "summary,collectives,overlap,skew")
        self.assertGreater(len(whole), 0)
        self.assertEqual([(row["op"], row["instances"]) for row in asked["collectives"]], [(row["op"], row["instances"]) for row in whole])
        share, rows = asked["summary"]["time_share"], asked["overlap"]
        span = sum(row["span_ns"] for row in rows)
        self.assertAlmostEqual(share["compute_ratio"], sum(row["compute_ns"] for row in rows) / span, places=8)


@needs_traces
class RanksAndKernels(unittest.TestCase):
    def test_ranks_are_those_asked_for(self):
        whole = analyze(DLRM, "--view", "kernels,overlap,idle,skew,ranks")
        some = analyze(DLRM, "--view", "kernels,overlap,idle,skew,ranks", "--ranks", "1,3-5")
        for view in ("overlap", "idle", "ranks"):
            self.assertEqual(some[view], [row for row in whole[view] if row["rank"] in (1, 3, 4, 5)])
        for row in some["kernels"]:
            (same,) = [r for r in whole["kernels"] if r["name"] == row["name"]]
            self.assertEqual(row["by_rank"], [r for r in same["by_rank"] if r["rank"] in (1, 3, 4, 5)])

    def test_a_pattern_leaves_the_kernels_whose_names_match(self):
        for pattern in ("gemm", "^nccl", "elementwise|Memcpy", "[Ff]unctor<float>"):
            whole = analyze(CONTROL, "--view", "kernels,launches")
            got = analyze(CONTROL, "--view", "kernels,launches", "--kernels", pattern)
            names = [row["name"] for row in whole["kernels"] if re.search(pattern, row["name"])]
            self.assertEqual([row["name"] for row in got["kernels"]], names)
            self.assertGreater(len(names), 0)
            self.assertEqual(got["launches"], [row for row in whole["launches"] if re.search(pattern, row["kernel"])])

    def test_collectives_and_skew_follow_the_pattern_too(self):
        every = analyze(DLRM, "--view", "collectives")["collectives"]
        got = analyze(DLRM, "--view", "collectives,skew", "--kernels", "AllReduce", "--instances=all")
        self.assertEqual({row["op"] for row in got["collectives"]}, {"all_reduce"})
        self.assertEqual([row["instances"] for row in got["collectives"]], [r["instances"] for r in every if r["op"] == "all_reduce"])
        self.assertEqual({i["op"] for i in got["skew"]["instances"]}, {"all_reduce"})


@needs_traces
class Stored(TempDirTest):
    def stored(self, path):
        store = self.path("runs.db")
        whole = analyze(path, "--store", store, "--run", "stored", "--view", "ranks")
        self.assertTrue(whole["ranks"])

        def show(*args):
            done = run("lockstep", "show", "stored", "--store", store, "--format", "json", *args)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)

        return show

    def test_steps_are_exact_but_for_small_kernels_and_what_is_kept_whole(self):
        show = self.stored(NCCL)
        views = "collectives,skew,overlap,steps,kernels,host,memory,idle"
        exact = analyze(NCCL, "--view", views, "--steps", "4..5", "--instances=all")
        stored = show("--view", views, "--steps", "4..5", "--instances=all")
        for view in ("collectives", "skew", "overlap", "steps"):
            self.assertEqual(stored[view], exact[view], view)
        self.assertEqual([row["idle_ns"] for row in stored["idle"]], [row["idle_ns"] for row in exact["idle"]])
        largest = {row["name"]: (row["instances"], row["total_ns"]) for row in exact["kernels"][:32]}
        got = {row["name"]: (row["instances"], row["total_ns"]) for row in stored["kernels"]}
        # The 32 largest of the capture: all but a few of the 32 largest of these steps.
        self.assertGreater(sum(got[name] == value for name, value in largest.items()), 28)
        told = {notice["view"] for notice in stored["notices"]}
        self.assertLessEqual({"kernels", "host", "memory", "idle"}, told)

    def test_time_is_exact_on_collectives_and_snapped_outward_elsewhere(self):
        show = self.stored(NCCL)
        args = ("--view", "collectives,skew,overlap,kernels,host,memory,idle", "--time", "100ms..300ms", "--instances=all")
        exact, stored = analyze(NCCL, *args), show(*args)
        for view in ("collectives", "skew"):
            self.assertEqual(stored[view], exact[view], view)
        (got,), (want,) = stored["overlap"], exact["overlap"]
        for key in ("span_ns", "compute_ns", "comm_ns"):
            self.assertGreaterEqual(got[key], want[key])
        self.assertLessEqual(got["span_ns"], want["span_ns"] + 2 * 660_551_005 // 256)
        self.assertGreaterEqual(total(stored["kernels"]), total(exact["kernels"]))
        snapped = {notice["view"]: notice["reason"] for notice in stored["notices"]}
        self.assertIn("bucket", snapped["overlap"])
        self.assertIn("slice", snapped["kernels"])
        self.assertLessEqual({"host", "memory", "idle"}, set(snapped))

    def test_ranks_and_patterns_are_exact(self):
        show = self.stored(DLRM)
        for args in (("--ranks", "2,6"), ("--kernels", "AllReduce|gemm")):
            views = ("--view", "kernels,families,overlap,idle,skew,collectives,launches,steps")
            exact, stored = analyze(DLRM, *views, *args), show(*views, *args)
            for view in exact:
                if view not in ("run", "notices"):
                    self.assertEqual(stored[view], exact[view], view)

    def test_ranges_work_where_they_were_condensed_as_steps(self):
        store = self.path("ranges.db")
        analyze(NSYS, "--store", store, "--run", "ranges", "--step-range", "aten::linear", "--view", "ranks")
        exact = analyze(NSYS, "--nvtx", "aten::linear", "--view", "overlap,steps")
        done = run("lockstep", "show", "ranges", "--store", store, "--nvtx", "aten::linear", "--view", "overlap,steps", "--format", "json")
        stored = json.loads(done.stdout)
        for view in ("overlap", "steps"):
            self.assertEqual(stored[view], exact[view], view)
        done = run("lockstep", "show", "ranges", "--store", store, "--nvtx", "aten::copy_", "--view", "steps", "--format", "json")
        self.assertEqual(json.loads(done.stdout)["steps"], [])
        self.assertIn("no range 'aten::copy_' launched anything", done.stdout)


class WhatIsStoredIsWhole(TempDirTest):
    def test_asking_for_a_range_changes_nothing_of_a_stored_run(self):
        traces = simulate(self.path("traces"), "--tp", 4, "--steps", 12, "--layers", 4, "--format", "nsys")
        store = ["--store", self.path("runs.db"), "--run", "r"]
        analyze(traces, *store)
        before = run("lockstep", "show", "r", *store[:2], "--view", "ranks,kernels,steps", "--format", "json").stdout
        for ask, code in ((["--nvtx", "step[DECODE bs=32]"], 0), (["--nvtx", "NCCL:ncclAllReduce"], 0), (["--step-range", "ncclAllReduce"], 1)):
            done = run("lockstep", "analyze", traces, *store, *ask)
            self.assertEqual(done.returncode, code, done.stderr)
            after = run("lockstep", "show", "r", *store[:2], "--view", "ranks,kernels,steps", "--format", "json").stdout
            self.assertEqual(before, after, ask)
        self.assertIn("the run 'r' is stored without --step-range and keeps those steps; --replace", done.stderr)

    def test_more_files_of_a_run_have_its_steps_and_no_others(self):
        traces = simulate(self.path("traces"), "--tp", 2, "--hosts", 2, "--gpus-per-host", 1, "--steps", 8, "--layers", 2, "--format", "nsys")
        first, second = sorted(glob.glob(os.path.join(traces, "*.sqlite")))
        store = ["--store", self.path("runs.db"), "--run", "r"]
        ranges = "NCCL:ncclAllReduce"
        analyze(first, *store, "--step-range", ranges)
        done = run("lockstep", "analyze", second, *store, "--step-range", "step")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"is stored with --step-range '{ranges}'", done.stderr)
        steps = analyze(second, *store, "--view", "steps")["steps"]  # those of the run, unasked
        self.assertEqual({row["rank"] for row in steps}, {0, 1})
        self.assertEqual({row["name"] for row in steps}, {"ncclAllReduce"})
        again = analyze(traces, *store, "--step-range", "step[DECODE bs=32]", "--replace", "--view", "steps")["steps"]
        self.assertNotEqual({row["name"] for row in again}, {"ncclAllReduce"})

    def test_calls_of_nccl_asked_for_as_ranges_still_describe_their_kernels(self):
        traces = simulate(self.path("traces"), "--tp", 4, "--steps", 12, "--layers", 4, "--format", "nsys")
        whole = analyze(traces, "--view", "collectives")["collectives"]
        asked = analyze(traces, "--view", "collectives", "--nvtx", "NCCL:ncclAllReduce")["collectives"]
        self.assertEqual([(row["bytes"], row["match"], row["matched"]) for row in asked],
                         [(row["bytes"], row["match"], row["matched"]) for row in whole])


@needs_traces
class OneSelectionOneAnswer(unittest.TestCase):
    DLRM = os.path.join(DATA, "kineto", "param_dlrm_8rank_v100", "kineto")

    def test_a_time_shorter_than_a_bucket_is_that_time_in_the_summary_too(self):
        report = analyze(self.DLRM, "--time", "4ms..4100us", "--view", "summary,overlap,imbalance")
        span = sum(row["span_ns"] for row in report["overlap"])
        share = report["summary"]["time_share"]
        for part in ("compute", "idle"):
            self.assertAlmostEqual(share[part + "_ratio"], sum(row[part + "_ns"] for row in report["overlap"]) / span, places=6)
        self.assertEqual((report["imbalance"]["window"]["start_ns"], report["imbalance"]["window"]["span_ns"]), (4_000_000, 100_000))

    def test_what_is_absent_of_a_selection_is_said(self):
        refused = run("lockstep", "analyze", self.DLRM, "--time", "500s..600s")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("--time selects nothing: the activity of the devices lasts from 0 s to ", refused.stderr)
        report = analyze(self.DLRM, "--ranks", "3,99", "--view", "kernels,collectives")
        reasons = " ".join(notice["reason"] for notice in report["notices"])
        self.assertIn("no trace of rank 99", reasons)
        self.assertNotIn("the traces contain no", reasons)


if __name__ == "__main__":
    unittest.main()
