"""The sums of `nsys stats` on the fixture files: its published outputs, and every row against its definition in SQL.

The oracle reads the exports with sqlite3 and pools all processes and devices, as nsys does.
"""
import collections
import csv
import io
import os
import sqlite3
import statistics
import unittest

from support import DATA, analyze, needs_traces, run

FOLDER = os.path.join(DATA, "nsys", "nsys_ai_fixtures")
BEFORE = os.path.join(FOLDER, "mfu_2gpu_before.sqlite")
FILES = [BEFORE, os.path.join(FOLDER, "mfu_2gpu_after.sqlite"), os.path.join(FOLDER, "h100_2gpu_1s.sqlite")]
SMALL = [os.path.join(FOLDER, name) for name in ("mock.sqlite", "healthy_1pct.sqlite", "healthy_judged_1pct.sqlite")]
KERNEL, RUNTIME, MEMCPY = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSET = "CUPTI_ACTIVITY_KIND_MEMSET"
PID = "/ 16777216 % 16777216"  # of a globalTid or globalPid
COPIES = {1: "Host-to-Device", 2: "Device-to-Host", 8: "Device-to-Device", 10: "Peer-to-Peer"}
KINDS = {1: "host_to_device", 2: "device_to_host", 8: "device_to_device", 10: "peer_to_peer"}


def rows(path, query):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        return connection.execute(query).fetchall()


def tables(path):
    return {name for (name,) in rows(path, "SELECT name FROM sqlite_master WHERE type='table'")}


def columns(path, table):
    return {row[1] for row in rows(path, f"PRAGMA table_info({table})")}


def figures(values):
    return {
        "count": len(values), "total": sum(values), "min": min(values), "max": max(values),
        "mean": sum(values) / len(values), "median": statistics.median(values),
        "stddev": statistics.stdev(values) if len(values) > 1 else 0, "distinct": len(set(values)),
    }


def grouped(pairs):
    groups = collections.defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return {key: figures(values) for key, values in groups.items()}


def kernels(path, key="demangled.value"):
    """Durations by an expression on the row `k` and its names."""
    mangled = "LEFT JOIN StringIds AS mangled ON mangled.id = k.mangledName" if "mangledName" in columns(path, KERNEL) else ""
    return rows(path, f"""SELECT {key}, k.end - k.start FROM {KERNEL} AS k JOIN StringIds AS demangled ON demangled.id = k.demangledName
        LEFT JOIN StringIds AS short ON short.id = k.shortName {mangled}""")


def nsys_csv(path, view, *args, style="nsys"):
    done = run("lockstep", "analyze", path, "--view", view, "--format", "csv", "--csv-style", style, *args)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def api_name(name):
    return name[:-6] if len(name) > 6 and name[-6:-4] == "_v" else name


class Sums(unittest.TestCase):
    def same(self, pct, total, want, what):
        self.assertEqual((pct["count"], total, pct["min"], pct["max"]), tuple(want[k] for k in ("count", "total", "min", "max")), what)
        self.assertAlmostEqual(pct["mean"] / max(want["mean"], 1), want["mean"] / max(want["mean"], 1), places=7, msg=what)
        self.assertAlmostEqual(pct["stddev"], want["stddev"], delta=1e-7 * want["stddev"] + 1e-6, msg=what)
        if "bounds" in pct:  # more than 1,024 distinct values: the certain interval
            least, most = pct["bounds"]["p50"]
            self.assertTrue(least <= want["median"] <= most, what)
        else:
            self.assertAlmostEqual(pct["median"], want["median"], delta=0.51 if want["median"] > 1e8 else 0.01, msg=what)

    def same_csv(self, row, count, want, what):
        got = [row[k] for k in ("Total Time (ns)", count, "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)")]
        self.assertEqual(got[:2] + got[4:6], [str(want[k]) for k in ("total", "count", "min", "max")], what)
        for value, key in ((got[2], "mean"), (got[3], "median"), (got[6], "stddev")):
            if key == "median" and value == "" and want["distinct"] > 1024:
                continue  # a sketch of so many values has no exact median: the document states its interval
            self.assertAlmostEqual(float(value), want[key], delta=0.0501 + 1e-8 * want[key], msg=what)

    def same_table(self, table, count, name, want):
        self.assertEqual({row[name] for row in table}, set(want))
        whole = sum(figure["total"] for figure in want.values())
        totals = [int(row["Total Time (ns)"]) for row in table]
        self.assertEqual(totals, sorted(totals, reverse=True))
        for row in table:
            figure = want[row[name]]
            self.same_csv(row, count, figure, row[name])
            self.assertAlmostEqual(float(row["Time (%)"]), 100 * figure["total"] / whole, delta=0.0501)


@needs_traces
class Published(unittest.TestCase):
    """What nsys 2023.4.4 printed."""

    def test_kernels_copies_and_calls_are_the_published_ones(self):
        kernel = {row["Name"]: row for row in nsys_csv(BEFORE, "kernels")}
        row = kernel["ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"]
        self.assertEqual(list(row.values())[:8], ["4.7", "25401752", "66", "384875.0", "168208.0", "89440", "3603569", "633670.6"])
        top = nsys_csv(BEFORE, "kernels")[0]
        self.assertIn("flash_fwd", top["Name"])
        self.assertEqual((top["Time (%)"], top["Total Time (ns)"], top["Instances"]), ("50.9", "272317378", "68"))
        memory = {row["Operation"]: (row["Total Time (ns)"], row["Count"]) for row in nsys_csv(BEFORE, "memory")}
        self.assertEqual(memory, {"[CUDA memcpy Device-to-Device]": ("5665431", "986"), "[CUDA memset]": ("213408", "269"),
                                  "[CUDA memcpy Host-to-Device]": ("26656", "34")})
        calls = {row["Name"]: (row["Total Time (ns)"], row["Num Calls"]) for row in nsys_csv(BEFORE, "host")}
        self.assertEqual(calls["cudaStreamSynchronize"], ("324534733", "33"))
        self.assertEqual(calls["cudaLaunchKernel"], ("27981572", "3604"))
        self.assertEqual(calls["cuLaunchKernelEx"], ("3405463", "402"))

    def test_a_launch_row_is_the_published_one(self):
        (row,) = [r for r in nsys_csv(BEFORE, "launches") if (r["PID"], r["DevId"]) == ("144", "0")
                  and r["API Name"] == "cuLaunchKernelEx" and "SendRecv" in r["Kernel Name"]]
        self.assertEqual([row[k] for k in ("Count", "TAvg (ns)", "AAvg (ns)", "QAvg (ns)", "KAvg (ns)")],
                         ["32", "5957183.9", "10285.9", "5413371.6", "533526.4"])

    def test_the_gaps_are_the_published_ones(self):
        idle = analyze(BEFORE, "--view", "idle")["idle"]
        largest = max(idle, key=lambda row: row["gap_ns"]["max"])
        self.assertEqual((largest["device"], largest["gap_ns"]["max"]), (0, 4_492_845))


@needs_traces
class Kernels(Sums):
    def test_every_kernel_of_every_grouping_is_equal(self):
        for path in FILES + SMALL:
            mangled = "coalesce(mangled.value, demangled.value)" if "mangledName" in columns(path, KERNEL) else "demangled.value"
            groupings = {"full": "demangled.value", "mangled": mangled}
            if path in FILES:
                groupings["base"] = "short.value"
            for grouping, key in groupings.items():
                with self.subTest(path=path, grouping=grouping):
                    want = grouped(kernels(path, key))
                    got = {row["name"]: row for row in analyze(path, "--view", "kernels", "--group-by", grouping)["kernels"]}
                    self.assertEqual(set(got), set(want))
                    for name, figure in want.items():
                        self.same(got[name]["duration_ns"], got[name]["total_ns"], figure, name)

    def test_the_csv_has_nsys_headers_units_and_order(self):
        for path in FILES:
            table = nsys_csv(path, "kernels")
            self.assertEqual(list(table[0]), ["Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Med (ns)", "Min (ns)",
                                              "Max (ns)", "StdDev (ns)", "Name"])
            self.same_table(table, "Instances", "Name", grouped(kernels(path)))
            order = [(-int(row["Total Time (ns)"]), int(row["Instances"]), row["Name"]) for row in table]
            self.assertEqual(order, sorted(order))

    def test_by_grid_and_block_is_equal(self):
        shape = "demangled.value || '|' || printf('%4d %4d %4d|%4d %4d %4d', k.gridX, k.gridY, k.gridZ, k.blockX, k.blockY, k.blockZ)"
        for path in FILES:
            table = nsys_csv(path, "kernels", "--group-by", "shape")
            self.assertEqual(list(table[0])[-3:], ["GridXYZ", "BlockXYZ", "Name"])
            for row in table:
                row["key"] = "|".join((row["Name"], row["GridXYZ"], row["BlockXYZ"]))
            self.same_table(table, "Instances", "key", grouped(kernels(path, shape)))


@needs_traces
class Host(Sums):
    def test_every_call_is_equal(self):
        for path in FILES + SMALL:
            with self.subTest(path):
                calls = rows(path, f"SELECT s.value, r.end - r.start FROM {RUNTIME} AS r JOIN StringIds AS s ON s.id = r.nameId")
                table = nsys_csv(path, "host")
                self.assertEqual(list(table[0])[2], "Num Calls")
                self.same_table(table, "Num Calls", "Name", grouped((api_name(name), duration) for name, duration in calls))

    def test_every_launch_row_is_equal(self):
        for path in FILES:
            with self.subTest(path):
                want = collections.defaultdict(lambda: collections.defaultdict(list))
                for pid, tid, device, api, kernel, a0, a1, k0, k1 in rows(path, f"""
                        SELECT k.globalPid {PID}, r.globalTid % 16777216, k.deviceId, api.value, name.value, r.start, r.end, k.start, k.end
                        FROM {KERNEL} AS k JOIN {RUNTIME} AS r ON r.correlationId = k.correlationId AND r.globalTid {PID} = k.globalPid {PID}
                        JOIN StringIds AS api ON api.id = r.nameId JOIN StringIds AS name ON name.id = k.demangledName"""):
                    entry = want[str(pid), str(tid), str(device), api_name(api), kernel]
                    entry["T"].append(max(a1, k1) - a0)
                    entry["A"].append(a1 - a0)
                    entry["K"].append(k1 - k0)
                    if k0 >= a1:
                        entry["Q"].append(k0 - a1)
                table = nsys_csv(path, "launches")
                names = ("PID", "TID", "DevId", "API Name", "Kernel Name")
                self.assertEqual({tuple(r[name] for name in names) for r in table}, set(want))
                self.assertEqual(len(table), len(want))
                averages = [float(row["TAvg (ns)"]) for row in table]
                self.assertEqual(averages, sorted(averages, reverse=True))
                for row in table:
                    entry = want[tuple(row[name] for name in names)]
                    self.assertEqual((row["Count"], row["QCount"]), (str(len(entry["T"])), str(len(entry["Q"]))))
                    for part in "TAQK":
                        if not entry[part]:
                            self.assertEqual(row[part + "Avg (ns)"], "")
                            continue
                        figure = figures(entry[part])
                        self.assertEqual([row[part + "Min (ns)"], row[part + "Max (ns)"]], [str(figure["min"]), str(figure["max"])])
                        for column, key in (("Avg", "mean"), ("Med", "median"), ("StdDev", "stddev")):
                            self.assertAlmostEqual(float(row[f"{part}{column} (ns)"]), figure[key], delta=0.0501 + 1e-8 * figure[key])


@needs_traces
class Memory(Sums):
    def operations(self, path):
        """(kind, duration, bytes) of every copy and memset."""
        found = []
        if MEMCPY in tables(path):
            found += [(kind, d, b) for kind, d, b in rows(path, f"SELECT copyKind, end - start, bytes FROM {MEMCPY}")]
        if MEMSET in tables(path):
            found += [("memset", d, b) for d, b in rows(path, f"SELECT end - start, bytes FROM {MEMSET}")]
        return found

    def test_times_and_sizes_of_every_operation_are_equal(self):
        for path in FILES + SMALL[:1]:
            with self.subTest(path):
                operations = self.operations(path)
                times = grouped((KINDS.get(kind, kind), duration) for kind, duration, _ in operations)
                sizes = grouped((KINDS.get(kind, kind), size) for kind, _, size in operations)
                got = {row["kind"]: row for row in analyze(path, "--view", "memory")["memory"]}
                self.assertEqual(set(got), set(times))
                for kind, row in got.items():
                    self.same(row["duration_ns"], row["total_ns"], times[kind], kind)
                    self.same(row["size_bytes"], row["bytes"], sizes[kind], kind)
                labels = grouped(("[CUDA memset]" if kind == "memset" else f"[CUDA memcpy {COPIES[kind]}]", duration)
                                 for kind, duration, _ in operations)
                self.same_table(nsys_csv(path, "memory"), "Count", "Operation", labels)

    def test_the_csv_of_sizes_has_nsys_headers_units_and_order(self):
        for path in FILES + SMALL[:1]:
            with self.subTest(path):
                want = grouped(("[CUDA memset]" if kind == "memset" else f"[CUDA memcpy {COPIES[kind]}]", size)
                               for kind, _, size in self.operations(path))
                table = nsys_csv(path, "memory", style="nsys-size")
                self.assertEqual(list(table[0]), ["Total (MB)", "Count", "Avg (MB)", "Med (MB)", "Min (MB)", "Max (MB)",
                                                  "StdDev (MB)", "Operation"])
                self.assertEqual({row["Operation"] for row in table}, set(want))
                order = [want[row["Operation"]]["total"] for row in table]
                self.assertEqual(order, sorted(order, reverse=True))
                for row in table:
                    figure = want[row["Operation"]]
                    self.assertEqual(row["Count"], str(figure["count"]))
                    for column, key in (("Total", "total"), ("Avg", "mean"), ("Med", "median"), ("Min", "min"), ("Max", "max"), ("StdDev", "stddev")):
                        got = row[f"{column} (MB)"]
                        self.assertAlmostEqual(float(got), figure[key] / 1e6, delta=0.00051, msg=(row["Operation"], column))
                        self.assertEqual(len(got.split(".")[1]), 3)


@needs_traces
class Gaps(unittest.TestCase):
    def test_every_gap_of_every_device_is_equal(self):
        for path in FILES:
            busy = collections.defaultdict(list)
            for table in (KERNEL, MEMCPY, MEMSET):
                for pid, device, start, end in rows(path, f"SELECT globalPid {PID}, deviceId, start, end FROM {table} WHERE start > 0"):
                    busy[pid, device].append((start, end))
            ranks = analyze(path, "--view", "ranks,idle")
            pids = {row["rank"]: (row["pid"], row["device"]) for row in ranks["ranks"]}
            for row in ranks["idle"]:
                gaps, reached = [], None
                for start, end in sorted(busy[pids[row["rank"]]]):
                    if reached is not None and start > reached:
                        gaps.append(start - reached)
                    reached = end if reached is None else max(reached, end)
                self.assertEqual((row["gaps"], row["idle_ns"], row["gap_ns"]["max"]), (len(gaps), sum(gaps), max(gaps)))


def without_call_number(text):
    """emit_nvtx numbers every call in its text: lockstep sums the calls of one operator, nsys lists each text."""
    return min((text.split(mark)[0] for mark in (", op_id = ", ", seq = ")), key=len) or text


def ranges(path):
    """(thread, start, end, domain, text, style) of every range."""
    domains = {(tid >> 24, domain): text for tid, domain, text in rows(path, """SELECT n.globalTid, n.domainId, coalesce(n.text, s.value)
        FROM NVTX_EVENTS AS n LEFT JOIN StringIds AS s ON s.id = n.textId WHERE n.eventType = 75""")}
    return [(tid, start, end, domains.get((tid >> 24, domain)) or None, without_call_number(text), "start_end" if kind in (60, 71) else "push_pop")
            for tid, start, end, domain, text, kind in rows(path, """SELECT n.globalTid, n.start, n.end, n.domainId, coalesce(n.text, s.value), n.eventType
            FROM NVTX_EVENTS AS n LEFT JOIN StringIds AS s ON s.id = n.textId WHERE n.eventType IN (59, 60, 70, 71) AND n.end IS NOT NULL""")]


@needs_traces
class Nvtx(Sums):
    def test_every_range_is_equal(self):
        for path in FILES:
            with self.subTest(path):
                want = grouped(((domain, text, style), end - start) for _, start, end, domain, text, style in ranges(path))
                # What is known to be a collective has that for its style.
                got = {(r["domain"], r["range"], r["style"].replace("collective", "push_pop")): r for r in analyze(path, "--view", "nvtx")["nvtx"]}
                self.assertEqual(set(got), set(want))
                for key, row in got.items():
                    self.same(row["duration_ns"], row["total_ns"], want[key], key)
                named = {(f"{domain}:" if domain else "") + text: figure for (domain, text, _), figure in want.items()}
                self.same_table(nsys_csv(path, "nvtx"), "Instances", "Range", named)

    def test_ranges_projected_onto_the_device_are_equal(self):
        for path in FILES[::2]:
            with self.subTest(path):
                device = collections.defaultdict(list)
                for table in (KERNEL, MEMCPY, MEMSET):
                    for pid, correlation, start, end in rows(path, f"SELECT globalPid >> 24, correlationId, start, end FROM {table}"):
                        device[pid, correlation].append((start, end))
                launches = collections.defaultdict(list)
                for tid, start, correlation in rows(path, f"SELECT globalTid, start, correlationId FROM {RUNTIME} ORDER BY start"):
                    work = device.get((tid >> 24, correlation))
                    if work:
                        launches[tid].append((start, min(s for s, _ in work), max(e for _, e in work)))
                projected = []
                for tid, start, end, domain, text, _ in ranges(path):
                    inside = [(s, e) for at, s, e in launches[tid] if start <= at < end]
                    if inside:
                        projected.append(((domain, text), max(e for _, e in inside) - min(s for s, _ in inside)))
                want = grouped(projected)
                got = {(r["domain"], r["range"]): r["projected_ns"] for r in analyze(path, "--view", "nvtx")["nvtx"]
                       if r["projected_ns"]["count"]}
                self.assertEqual(set(got), set(want))
                for key, pct in got.items():
                    self.assertEqual((pct["count"], pct["min"], pct["max"]), tuple(want[key][k] for k in ("count", "min", "max")), key)
                    self.assertAlmostEqual(pct["mean"], want[key]["mean"], delta=1e-8 * want[key]["mean"] + 0.01)


if __name__ == "__main__":
    unittest.main()
