"""Traces that lack something, as Kineto and as nsys write them, from files and stored: what cannot be computed says why, the rest is right.

One description is written in both formats; both must tell the same.
"""
import csv
import io
import json
import os
import unittest

from support import TempDirTest, analyze, nsys_export, run, string_ids

START_US = 1_769_904_000_000_000
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
LISTS = ("kernels", "families", "collectives", "tails", "host", "launches", "nvtx", "memory", "allocation", "steps")
MEASURES = ("overlap", "idle", "imbalance", "pace", "findings")  # have figures, or nothing to say, where nothing ran
csv.field_size_limit(1 << 27)  # thousands of streams are one cell
VIEWS = LISTS[:8] + ("steps", "summary", "ranks", "quality", "skew", "clock", "stragglers") + MEASURES


class Trace:
    """Records of one process, times in us."""

    def __init__(self):
        self.kernels, self.calls, self.ranges = [], [], []

    def kernel(self, start, duration, name, stream=7, correlation=0):
        self.kernels.append((start, duration, name, stream, correlation))

    def call(self, start, duration, name, correlation):
        self.calls.append((start, duration, name, correlation))

    def range(self, start, duration, name):
        """A duration of None: it never ends."""
        self.ranges.append((start, duration, name))

    def write_kineto(self, path):
        def event(category, name, start, duration, pid, tid, args):
            return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": START_US + start, "dur": duration, "args": args}
        last = max([a + b for a, b, *_ in self.kernels + self.calls] + [0])
        events = [event("kernel", name, start, duration, 0, stream, {"device": 0, "stream": stream} | ({"correlation": c} if c else {}))
                  for start, duration, name, stream, c in self.kernels]
        events += [event("cuda_runtime", name, start, duration, 9, 1, {"correlation": c}) for start, duration, name, c in self.calls]
        events += [event("user_annotation", name, start, last - start if duration is None else duration, 9, 1, {}) for start, duration, name in self.ranges]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": events}, file)

    def write_nsys(self, path):
        db = nsys_export(path)
        text = string_ids(db)

        def fill(table, columns, rows):
            if not rows:
                return
            db.execute(f"CREATE TABLE {table} ({', '.join(columns.split())})")
            db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns.split()))})", rows)
        pid, tid = 9 << 24, (9 << 24) + 1
        fill("CUPTI_ACTIVITY_KIND_KERNEL", "start end deviceId contextId streamId correlationId globalPid demangledName shortName gridX gridY gridZ blockX blockY blockZ",
             [(1000 * a, 1000 * (a + b), 0, 1, s, c or None, pid, text(n), text(n), 1, 1, 1, 128, 1, 1) for a, b, n, s, c in self.kernels])
        fill("CUPTI_ACTIVITY_KIND_RUNTIME", "start end eventClass globalTid correlationId nameId",
             [(1000 * a, 1000 * (a + b), 0, tid, c, text(n)) for a, b, n, c in self.calls])
        fill("NVTX_EVENTS", "start end eventType text globalTid domainId",
             [(1000 * a, None if b is None else 1000 * (a + b), 59, n, tid, 0) for a, b, n in self.ranges])
        db.commit()
        db.close()


class Lacking(TempDirTest):
    def reports(self, trace, formats=("json", "sqlite"), views=("kernels", "steps", "idle")):
        """(name, report) of each format; the views can be printed in every form, and the stored run says the same."""
        writers = {"json": trace.write_kineto, "sqlite": trace.write_nsys}
        for name, write in ((f"rank0.{each}", writers[each]) for each in formats):
            path, store = self.path(name), self.path(name + ".db")
            write(path)
            report = analyze(path, "--view", "all", "--store", store, "--run", "r")
            shown = ("show", "r", "--store", store)
            self.assertEqual(json.loads(run("lockstep", *shown, "--view", "all", "--format", "json").stdout), report)
            page = run("lockstep", *shown, "--view", "all")
            self.assertEqual(page.returncode, 0, page.stderr)
            self.assertNotIn(" nan", page.stdout)
            for view in views:
                done = run("lockstep", *shown, "--view", view, "--format", "csv")
                self.assertEqual(done.returncode, 0, done.stderr)
                table = list(csv.reader(io.StringIO(done.stdout)))
                self.assertEqual({len(row) for row in table}, {len(table[0])}, view)
                if view in LISTS:
                    self.assertEqual(len(table) - 1, len(report[view]), view)
            self.told = {(notice["view"], notice["reason"]) for notice in report["notices"]}
            for view in LISTS:
                if not report[view]:
                    self.assertTrue(any(about == view for about, _ in self.told), (view, sorted(self.told)))
            yield name, report

    def assert_told(self, view, *words):
        reasons = [reason for about, reason in self.told if about == view]
        self.assertTrue(any(all(word in reason for word in words) for reason in reasons), (view, words, reasons))

    def test_ranges(self):
        trace = Trace()
        for i in range(300):
            trace.call(10 * i, 2, "cudaLaunchKernel", i + 1)
            trace.kernel(10 * i + 3, 5, f"gemm_{i % 3}", correlation=i + 1)
        for _, report in self.reports(trace, views=VIEWS):
            self.assertEqual(report["nvtx"], [])
            self.assert_told("nvtx", "no ranges")
            self.assertEqual([(row["api"], row["calls"]) for row in report["host"]], [("cudaLaunchKernel", 300)])
            self.assertEqual(sum(row["queue_count"] for row in report["launches"]), 300)
            self.assertEqual(report["idle"][0]["idle_ns"], 299 * 5000)
            self.assertEqual(report["idle"][0]["host_ns"], 299 * 4000)  # the call ends 1 us before its kernel starts

    def test_calls(self):
        trace = Trace()
        for i in range(300):
            trace.kernel(10 * i, 5, f"gemm_{i % 3}", correlation=i + 1)
        for step in range(30):
            trace.range(100 * step, 100, f"ProfilerStep#{step}")
        for _, report in self.reports(trace):
            for view in ("host", "launches"):
                self.assertEqual(report[view], [], view)
            self.assert_told("host", "no runtime or driver calls")
            self.assert_told("launches", "no kernel with its launch call")
            self.assertEqual(report["idle"][0]["other_ns"], report["idle"][0]["idle_ns"])  # no cause without launches
            self.assertEqual(sum(row["instances"] for row in report["kernels"]), 300)

    def test_nodes_of_graphs(self):
        trace = Trace()
        for i in range(300):
            trace.call(100 * i, 5, "cudaGraphLaunch" if i % 3 else "cudaLaunchKernel", i + 1)
            if i % 3 == 0:
                trace.kernel(100 * i + 8, 40, "gemm", correlation=i + 1)
        for _, report in self.reports(trace):
            gates = {gate["name"]: gate for gate in report["quality"]["gates"]}
            self.assertIs(gates["graphs_visible"]["ok"], False)
            self.assertIn("200 of 300", gates["graphs_visible"]["detail"])
            self.assertIn("--cuda-graph-trace=node", gates["graphs_visible"]["fix"])
            self.assertEqual([finding["id"] for finding in report["findings"]], ["opaque_graphs"])
            self.assertEqual(report["kernels"][0]["instances"], 100)

    def test_other_ranks(self):
        trace = Trace()
        for i in range(300):
            trace.call(20 * i, 2, "cudaLaunchKernel", i + 1)
            trace.kernel(20 * i + 3, 12, NCCL if i % 3 == 0 else "gemm", correlation=i + 1)
        for _, report in self.reports(trace):
            (overlap,) = report["overlap"]
            self.assertEqual(overlap["exposed_unresolved_ns"], overlap["exposed_comm_ns"])
            self.assertEqual((overlap["exposed_wait_ns"], overlap["exposed_transfer_ns"]), (0, 0))
            self.assert_told("stragglers", "")
            self.assertIn("other ranks", " ".join(report["summary"]["next"]))
            self.assertEqual({row["verdict"] for row in report["collectives"]}, {"inconclusive"})

    def test_a_device(self):
        trace = Trace()
        for i in range(10):
            trace.range(1000 * i, 900, f"ProfilerStep#{i}")
            trace.range(1000 * i + 100, 500, "gloo:all_reduce")
            trace.call(1000 * i, 700, "cudaStreamSynchronize", i + 1)
        for _, report in self.reports(trace, views=VIEWS):
            for view in MEASURES + ("summary", "skew"):
                self.assert_told(view, "nothing ran on a device")
            for view in ("kernels", "families", "tails"):
                self.assert_told(view, "no kernels")
            gates = {gate["name"]: gate["ok"] for gate in report["quality"]["gates"]}
            self.assertIs(gates["kernels_present"], False)
            self.assertIsNone(gates["capture_long_enough"])
            self.assertEqual({row["range"]: row["instances"] for row in report["nvtx"]}["gloo:all_reduce"], 10)
            self.assertEqual([(row["api"], row["calls"]) for row in report["host"]], [("cudaStreamSynchronize", 10)])

    def test_names_of_nvidia(self):
        """An AMD trace: other names for the calls and kernels, streams of their own numbers."""
        names = ("Cijk_Ailk_Bljk_HHS_BH_MT128x128x16", "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)",
                 "void at::native::vectorized_elementwise_kernel<4>(int)")
        trace = Trace()
        for i in range(600):
            trace.call(10 * i, 2, "hipLaunchKernel", i + 1)
            trace.kernel(10 * i + 3, 5, names[i % 3], 0, i + 1)
        for _, report in self.reports(trace, ("json",)):
            families = {row["name"][:4]: (row["category"], row["family"]) for row in report["kernels"]}
            self.assertEqual(families, {"Cijk": ("compute", "gemm"), "nccl": ("communication", "communication"), "void": ("compute", "elementwise")})
            self.assertEqual([row["calls"] for row in report["host"]], [600])
            self.assertEqual({row["queue_count"] for row in report["launches"]}, {200})

    def test_length(self):
        trace = Trace()
        for i in range(300):
            trace.call(10 * i, 2, "cudaLaunchKernel", i + 1)
            trace.kernel(10 * i + 3, 0, f"gemm_{i % 3}", correlation=i + 1)
        for _, report in self.reports(trace):
            self.assertEqual(sum(row["instances"] for row in report["kernels"]), 300)
            self.assertEqual(sum(row["total_ns"] for row in report["kernels"]), 0)
            (overlap,) = report["overlap"]
            self.assertEqual((overlap["compute_ns"], overlap["idle_ns"]), (0, overlap["span_ns"]))
            self.assertEqual({row["share_ratio"] for row in report["kernels"]}, {None})  # of nothing

    def test_an_order_on_streams(self):
        """Thousands of streams, on each of which kernels overlap."""
        trace = Trace()
        for i in range(6000):
            trace.kernel(3 * i, 30 + i % 7, f"gemm_{i % 3}", stream=i % 3000 + 7)
            trace.kernel(3 * i + 1, 20, "copy_kernel", stream=i % 3000 + 7)
        for _, report in self.reports(trace):
            (overlap,) = report["overlap"]
            self.assertEqual((overlap["idle_ns"], overlap["compute_ns"]), (0, overlap["span_ns"]))
            self.assertEqual(sum(row["instances"] for row in report["kernels"]), 12_000)
            self.assertEqual(sum(row["total_ns"] for row in report["kernels"]), 1000 * sum(50 + i % 7 for i in range(6000)))

    def test_short_names(self):
        trace = Trace()
        for i in range(10):
            tail = "x" * 1_000_000 + str(i % 5)
            trace.range(100 * i, 90, "r" + tail)
            trace.call(100 * i + 1, 5, "cuda" + tail, i + 1)
            trace.kernel(100 * i + 10, 50, "k" + tail, correlation=i + 1)
        for name, report in self.reports(trace):
            for view, key, count in (("kernels", "name", "instances"), ("host", "api", "calls"), ("nvtx", "range", "instances")):
                self.assertEqual([row[count] for row in report[view]], [2] * 5, (name, view))
                self.assertLessEqual(max(len(row[key].encode()) for row in report[view]), 4096, (name, view))

    def test_ends_of_steps(self):
        trace = Trace()
        for i in range(1000):
            if i % 10 == 0:
                trace.range(10 * i, None, f"ProfilerStep#{i // 10}")
            trace.call(10 * i, 1, "cudaLaunchKernel", i + 1)
            trace.kernel(10 * i + 5, 4, f"gemm_{i % 7}", correlation=i + 1)
        for _, report in self.reports(trace):
            # A launch belongs to the step that began last.
            self.assertEqual([(row["step"], row["launches"]) for row in report["steps"]], [(i, 10) for i in range(100)])
            self.assertEqual(sum(row["compute_ns"] for row in report["steps"]), 1000 * 4000)


if __name__ == "__main__":
    unittest.main()
