"""Traces made to exhaust memory or time: bounded, right in the rest, and told. Those that lack something: lacking_test.

Each is analysed with all views in a process of its own, whose peak memory is measured.
"""
import glob
import itertools
import json
import os
import subprocess
import unittest
from collections import defaultdict

from support import BIN, DATA, ROOT, TempDirTest, needs_traces, nsys_export, simulate

MOST_MEMORY_KB = 256 * 1024
MOST_SECONDS = 60  # quadratic work on these inputs takes hours
MILLION = 1_000_000
START = 1_769_904_000_000_000  # us, 2026


def event(category, name, ts, dur, args="", pid=0, tid=7):
    return (f'{{"ph":"X","cat":"{category}","name":"{name}","pid":{pid},"tid":{tid},"ts":{START + ts},"dur":{dur},'
            f'"args":{{{args}}}}}')


def kernel(ts, dur, name, stream=7, correlation=None, more=""):
    launch = "" if correlation is None else f',"correlation":{correlation}'
    return event("kernel", name, ts, dur, f'"device":0,"stream":{stream}{launch}{more}', tid=stream)


def call(ts, dur, name, correlation, tid=1):
    return event("cuda_runtime", name, ts, dur, f'"correlation":{correlation}', 1, tid)


def annotation(ts, dur, name, tid=1):
    return event("user_annotation", name, ts, dur, "", 1, tid)


class Bounds(TempDirTest):
    def write(self, events):
        path = self.path("trace.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"traceEvents":[\n')
            for i, one in enumerate(events):
                file.write(",\n" + one if i else one)
            file.write("\n]}")
        return path

    def measured(self, path, views="all", *flags):
        """The report, and what the process used; nothing is complained about."""
        output = self.path("report.json")
        command = [os.path.join(BIN, "lockstep"), "analyze", path, "--view", views, "--format", "json", "--jobs", "1",
                   "--output", output, *flags]
        with open(self.path("stderr"), "w+", encoding="utf-8") as stderr:
            process = subprocess.Popen(["timeout", str(MOST_SECONDS), *command], stderr=stderr, cwd=ROOT)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            stderr.seek(0)
            self.assertEqual(process.returncode, 0, stderr.read())
        # The kernel tells the largest of the process and its children.
        self.assertLess(usage.ru_maxrss, MOST_MEMORY_KB)
        with open(output, encoding="utf-8") as file:
            return json.load(file), usage

    def report(self, events):
        return self.report_of(self.write(events))

    def report_of(self, path):
        report, _ = self.measured(path)
        self.told = {(notice["view"], notice["reason"]) for notice in report["notices"]}
        return report

    def counters(self, report):
        total = defaultdict(int)
        for entry in report["quality"]["files"] + report["quality"]["ranks"]:
            for reason, count in entry["counters"].items():
                total[reason] = max(total[reason], count)
        return total

    def assert_told(self, view, *words):
        reasons = [reason for about, reason in self.told if about == view]
        self.assertTrue(any(all(word in reason for word in words) for reason in reasons), (view, words, reasons))

    def kernels(self, report):
        return {row["name"]: row for row in report["kernels"]}


class ManyNames(Bounds):
    def check_rest(self, rows, key, count, total, largest):
        """Every instance is in a row; those of names that got none are in the one that says so."""
        named = {row[key]: row for row in rows}
        self.assertIn("(rest)", named)
        self.assertLess(len(rows), 20_000)
        self.assertEqual(sum(row[count] for row in rows), total)
        self.assertEqual(named["hot"][count], largest)
        return named

    def test_of_a_million_kernels_become_a_counted_rest(self):
        def events():
            for i in range(MILLION):
                yield kernel(3 * i, 2, f"kernel_number_{i}_of_many" if i % 100 else "hot")
        report = self.report(events())
        named = self.check_rest(report["kernels"], "name", "instances", MILLION, MILLION // 100)
        self.assertEqual(sum(row["total_ns"] for row in report["kernels"]), 2000 * MILLION)
        self.assertEqual(named["kernel_number_7_of_many"]["instances"], 1)
        self.assertGreater(self.counters(report)["name_limit"], MILLION // 2)
        self.assertGreater(self.counters(report)["key_limit"], 100_000)
        self.assert_told("kernels", "(rest)", str(named["(rest)"]["instances"]))
        (overlap,) = report["overlap"]
        self.assertEqual(overlap["compute_ns"], 2000 * MILLION)

    def test_of_an_nsys_export_become_a_counted_rest(self):
        numbers = ["start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "demangledName",
                   "shortName", "mangledName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"]
        path, count = self.path("names.sqlite"), 400_000
        db = nsys_export(path)
        db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({', '.join(number + ' INTEGER' for number in numbers)})")
        db.executemany("INSERT INTO StringIds VALUES (?, ?)", ((i, f"kernel_number_{i}" if i else "hot") for i in range(count)))

        def row(i):
            name = i if i % 100 else 0
            return (3000 * i, 3000 * i + 2000, 0, 1, 7, i, 1 << 24, name, name, name, 1, 1, 1, 128, 1, 1)
        db.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({', '.join('?' * len(numbers))})", map(row, range(count)))
        db.commit()
        db.close()
        report = self.report_of(path)
        self.check_rest(report["kernels"], "name", "instances", count, count // 100)
        self.assertEqual(sum(row["total_ns"] for row in report["kernels"]), 2000 * count)

    def test_that_come_late_have_their_row_when_they_weigh_most(self):
        def events():
            for i in range(100_000):
                yield kernel(30 * i, 1, f"kernel_{i}")
            for i in range(100_000, 100_500):
                yield kernel(30 * i, 20_000, "late_and_long")
        named = self.kernels(self.report(events()))
        self.assertEqual(named["late_and_long"]["instances"], 500)
        self.assertEqual(named["late_and_long"]["duration_ns"]["p50"], 20_000_000)

    def test_of_calls_and_ranges_become_counted_rests(self):
        def events():
            for i in range(200_000):
                hot = i % 100 == 0
                yield annotation(6 * i, 5, "hot" if hot else f"range_{i}")
                yield call(6 * i, 3, "hot" if hot else f"cuda_{i}", i + 1)
            yield kernel(5, 2, "gemm", correlation=1)
        report = self.report(events())
        self.check_rest(report["host"], "api", "calls", 200_000, 2_000)
        self.check_rest(report["nvtx"], "range", "instances", 200_000, 2_000)
        self.assertGreater(self.counters(report)["key_limit"], 100_000)

    def test_of_a_megabyte_are_cut_and_stay_apart(self):
        def events():
            for i in range(60):
                yield annotation(100 * i, 90, "r" + "b" * MILLION + str(i % 20))
                yield call(100 * i + 1, 5, "cuda" + "c" * MILLION + str(i % 20), i + 1)
                yield kernel(100 * i + 10, 50 + i % 20, "k" + "a" * MILLION + str(i % 20), correlation=i + 1)
        report = self.report(events())
        for view, key, count in (("kernels", "name", "instances"), ("host", "api", "calls"), ("nvtx", "range", "instances")):
            self.assertEqual(len({row[key] for row in report[view]}), 20, view)
            self.assertEqual([row[count] for row in report[view]], [3] * 20, view)
            self.assertLessEqual(max(len(row[key].encode()) for row in report[view]), 4096, view)
        self.assertEqual(sorted(row["total_ns"] for row in report["kernels"]), [3000 * (50 + i) for i in range(20)])

    def test_of_shapes_by_the_hundred_thousand_keep_exact_sums(self):
        def events():
            for i in range(300_000):
                yield kernel(3 * i, 2, f"gemm_{i % 40}", more=f',"grid":[{i % 100_000},{i % 7 + 1},1],"block":[{i % 1024 + 1},1,1]')
        rows = self.report(events())["kernels"]
        self.assertEqual(sum(row["instances"] for row in rows), 300_000)
        self.assertEqual(sum(row["total_ns"] for row in rows), 600_000_000)


class ManyOfElse(Bounds):
    def test_streams(self):
        def events():
            for i in range(200_000):
                yield call(3 * i, 1, "cudaLaunchKernel", i + 1)
                yield kernel(3 * i + 5, 2, f"gemm_{i % 7}", i % 20_000, i + 1)
        report = self.report(events())
        self.assertEqual([row["instances"] for row in report["kernels"]], [28572] * 3 + [28571] * 4)
        self.assertEqual(report["overlap"][0]["compute_ns"], 400_000_000)
        self.assertEqual(report["idle"][0]["idle_ns"], 199_999_000)

    def test_kernels_that_overlap_on_one_stream(self):
        events = [(3 * i, 3000 + i % 13) for i in range(200_000)]
        report = self.report(kernel(ts, dur, f"gemm_{i % 7}") for i, (ts, dur) in enumerate(events))
        total = sum(dur for _, dur in events)
        self.assertEqual(sum(row["total_ns"] for row in report["kernels"]), 1000 * total)
        (overlap,) = report["overlap"]
        span = max(ts + dur for ts, dur in events)
        self.assertEqual((overlap["compute_ns"], overlap["idle_ns"]), (1000 * span, 0))

    def test_kernels_of_no_length(self):
        report = self.report(kernel(i // 3, 0 if i % 2 else 1, f"gemm_{i % 2}") for i in range(200_000))
        named = self.kernels(report)
        self.assertEqual((named["gemm_1"]["instances"], named["gemm_1"]["total_ns"]), (100_000, 0))
        self.assertEqual((named["gemm_1"]["duration_ns"]["p99"], named["gemm_1"]["duration_ns"]["stddev"]), (0, 0))
        self.assertIsNone(named["gemm_1"]["p99_over_p50_ratio"])
        self.assertEqual(named["gemm_0"]["total_ns"], 100_000_000)

    def test_groups(self):
        def events():
            for i in range(100_000):
                group = f',"Process Group Name":"{i}","Process Group Ranks":"[0, {i + 1}]","Group size":2,"In msg nelems":8'
                yield kernel(3 * i, 2, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                             more=group + ',"dtype":"BFloat16","Collective name":"allreduce"')
        report = self.report(events())
        (row,) = report["kernels"]
        self.assertEqual((row["instances"], row["category"]), (100_000, "communication"))
        self.assertEqual(sum(row["instances"] for row in report["collectives"]), 100_000)
        self.assertEqual(self.counters(report)["key_limit"], 100_000 - 4096)

    def test_groups_in_turn(self):
        def events():
            for i in range(40_000):
                group = f',"Process Group Name":"{i % 4000}","Process Group Ranks":"[0, {i % 4000 + 1}]","Group size":2'
                yield kernel(3 * i, 2, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                             more=group + ',"In msg nelems":8,"dtype":"BFloat16","Collective name":"allreduce"')
        report = self.report(events())
        self.assertEqual([row["instances"] for row in report["collectives"]], [10] * 4000)

    def test_distinct_durations(self):
        def events():
            for i in range(500_000):
                yield kernel(200 * i, f"{(i * 7919) % 99991 / 1000:.3f}", f"gemm_{i % 500}")
        report = self.report(events())
        self.assertEqual([row["instances"] for row in report["kernels"]], [1000] * 500)

    def test_steps_by_the_million(self):
        def events():
            for i in range(MILLION):
                yield annotation(3 * i, 3, f"ProfilerStep#{i}")
                if i % 4 == 0:
                    yield call(3 * i, 1, "cudaLaunchKernel", i + 1)
                    yield kernel(3 * i + 1, 2, f"gemm_{i % 7}", correlation=i + 1)
        report = self.report(events())
        self.assertEqual(sum(row["instances"] for row in report["kernels"]), MILLION // 4)
        self.assertEqual(self.counters(report)["step_limit"], MILLION - 32_768)
        self.assertLessEqual(len(report["steps"]), 32_768)
        self.assertEqual(report["steps"][5]["step"], 20)

    def test_steps_that_never_end(self):
        def events():
            yield annotation(-10, 10**12, "ProfilerStep#0")
            for i in range(60_000):
                if i % 10 == 0:
                    yield annotation(3 * i, 10**10, f"ProfilerStep#{i // 10 + 1}")
                yield call(3 * i, 1, "cudaLaunchKernel", i + 1)
                yield kernel(3 * i + 5, 2, f"gemm_{i % 7}", correlation=i + 1)
        report = self.report(events())
        self.assertEqual(sum(row["instances"] for row in report["kernels"]), 60_000)
        # A launch belongs to the step that started last.
        self.assertEqual([row["step"] for row in report["steps"][:3]], [1, 2, 3])
        self.assertEqual(report["steps"][0]["launches"], 10)

    def test_ranges_nested_without_end(self):
        deep = 200_000
        events = itertools.chain((annotation(i, 10**6 - 2 * i, f"r_{i % 10}") for i in range(deep)),
                                 (kernel(3 * i, 2, "gemm") for i in range(1000)))
        report = self.report(events)
        self.assertEqual(sum(row["instances"] for row in report["nvtx"]), deep)

    def test_threads(self):
        def events():
            for i in range(200_000):
                yield call(6 * i, 5, "cudaLaunchKernel", i + 1, tid=i)
                yield annotation(6 * i, 5, "forward", tid=i)
                if i % 2:
                    yield kernel(6 * i + 1, 2, "gemm", correlation=i + 1)
        report = self.report(events())
        self.assertEqual([row["calls"] for row in report["host"]], [200_000])
        self.assertEqual([row["instances"] for row in report["kernels"]], [100_000])

    def test_longer_and_longer_kernels(self):
        report = self.report(kernel(2000 * i, f"{1 + i / 1000:.3f}", "gemm") for i in range(300_000))
        (row,) = report["kernels"]
        low, high = row["duration_ns"]["bounds"]["p99"]
        exact = 1000 + (300_000 * 99 // 100 - 1)
        self.assertLessEqual(low, exact)
        self.assertLessEqual(exact, high)
        self.assertEqual(row["duration_ns"]["max"], 1000 + 299_999)


class AllViews(Bounds):
    """Together they take less than twice the processor time of the summary alone."""

    def check(self, path):
        def least(views):
            usages = [self.measured(path, views)[1] for _ in range(3)]
            return min(usage.ru_utime + usage.ru_stime for usage in usages)
        self.assertLess(least("all"), 2 * least("summary"))

    def test_of_many_ranks(self):
        self.check(simulate(self.path("run"), "--program", "decode", "--tp", 8, "--dp", 8, "--hosts", 8, "--gpus-per-host", 8,
                            "--layers", 4, "--steps", 12))

    @needs_traces
    def test_of_the_largest_real_files(self):
        for name in ("kineto/**/trace_diff_control*.json.gz", "nsys/**/h100_2gpu_1s.sqlite"):
            (path,) = glob.glob(os.path.join(DATA, name), recursive=True)
            self.check(path)


if __name__ == "__main__":
    unittest.main()
