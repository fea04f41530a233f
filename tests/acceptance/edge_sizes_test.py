"""Inputs at the edge of what any trace has: one huge event, files beyond 4 GiB, a communicator for every pair of ranks, one rank with a
hundred times the events of the others. Right, told and bounded.

What is large is written compressed or sparse, so that little of it lies on disk.
"""
import gzip
import os
import sqlite3
import struct
import unittest

from bounds_test import Bounds, event, kernel
from support import nsys_export

MIB = 1 << 20
GIB = 1 << 30
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def collective(ts, dur, group, members, seq):
    """An all-reduce of a group."""
    ranks = ", ".join(map(str, members))
    return kernel(ts, dur, ALL_REDUCE, more=f',"Process Group Name":"{group}","Process Group Ranks":"[{ranks}]","Group size":{len(members)},'
                                            f'"In msg nelems":8,"dtype":"BFloat16","Collective name":"allreduce","Seq":{seq}')


class Sizes(Bounds):
    def compressed(self, *parts):
        """A trace of texts, and of texts with how often each stands there; every one a gzip member."""
        path = self.path("trace.json.gz")
        with open(path, "wb") as file:
            for part in parts:
                text, times = part if isinstance(part, tuple) else (part, 1)
                member = gzip.compress(text.encode(), 6)
                for _ in range(times):
                    file.write(member)
        return path

    def of_file(self, report):
        (entry,) = report["quality"]["files"]
        return entry

    def write_rank(self, rank, world, events):
        with open(self.path("run", f"rank{rank}.json"), "w", encoding="utf-8") as file:
            file.write(f'{{"distributedInfo":{{"rank":{rank},"world_size":{world}}},"traceEvents":[\n')
            file.write(",\n".join(events))
            file.write("\n]}")


class OneEvent(Sizes):
    """Of 100 MB, between good ones: skipped without being understood, and counted."""

    def check(self, *huge):
        path = self.compressed('{"traceEvents":[' + kernel(0, 5, "gemm") + ",", *huge, "," + kernel(10, 5, "gemm") + "]}")
        report = self.report_of(path)
        self.assertEqual(self.kernels(report)["gemm"]["instances"], 2)
        entry = self.of_file(report)
        self.assertEqual((entry["status"], entry["counters"]["oversize_event"]), ("used", 1))

    def test_whose_name_is_long(self):
        self.check('{"ph":"X","cat":"kernel","name":"', ("n" * MIB, 100), '","ts":5,"dur":5}')

    def test_whose_name_is_all_escapes_and_brackets(self):
        self.check('{"ph":"X","cat":"kernel","name":"', (r'\"]},{\\' * (MIB // 8), 100), '","ts":5,"dur":5}')

    def test_that_has_many_arguments(self):
        self.check('{"ph":"X","cat":"cpu_op","name":"aten::cat","ts":5,"dur":5,"args":{"Input Dims":[[0]',
                   (',[1, 2],{"a":["]"]}' * (MIB // 19), 100), "]}}")


class BeyondFourGiB(Sizes):
    FILLER = event("cpu_op", "aten::view", 5, 1, '"Call stack":"' + "frame of a stack;" * (MIB // 17) + '"') + ",\n"

    def test_kernels_of_a_trace_are_counted_and_damage_has_its_place(self):
        times = 4 * GIB // len(self.FILLER) + 1
        head = '{"traceEvents":[' + kernel(0, 5, "gemm") + ",\n"
        path = self.compressed(head, (self.FILLER, times), '{"ph":"X","cat":"kernel",!},\n' + kernel(20, 5, "gemm") + "]}")
        report = self.report_of(path)
        self.assertEqual(self.kernels(report)["gemm"]["total_ns"], 10_000)
        entry = self.of_file(report)
        place = len(head) + times * len(self.FILLER)
        self.assertGreater(place, 4 * GIB)
        self.assertEqual(entry["status"], "partial")
        self.assertLessEqual(abs(entry["offset"] - place), 64, entry)

    def test_kernels_of_an_export_are_read_from_its_far_pages(self):
        """Pages that nothing uses, made by a longer file, lie between the first and the last kernels."""
        path = self.path("far.sqlite")
        columns = ["start", "end", "deviceId", "streamId", "correlationId", "globalPid", "demangledName", "shortName"]
        db = nsys_export(path)
        db.execute("INSERT INTO StringIds VALUES (1, 'gemm')")
        db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({', '.join(column + ' INTEGER' for column in columns)})")

        def add(first, count):
            rows = ((100 * i, 100 * i + 50, 0, 7, i, 1 << 24, 1, 1) for i in range(first, first + count))
            db.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({', '.join('?' * len(columns))})", rows)
            db.commit()
        add(0, 1000)
        (page,) = db.execute("PRAGMA page_size").fetchone()
        db.close()
        pages = 4 * GIB // page + 1
        with open(path, "r+b") as file:
            file.truncate(pages * page)
            file.seek(28)
            file.write(struct.pack(">I", pages))
        db = sqlite3.connect(path)
        add(1000, 5000)
        db.close()
        self.assertGreater(os.path.getsize(path), 4 * GIB + 100_000)
        report = self.report_of(path)
        (row,) = report["kernels"]
        self.assertEqual((row["instances"], row["total_ns"]), (6000, 6000 * 50))


class ManyCommunicators(Sizes):
    def test_of_two_ranks_each_are_all_joined(self):
        """Every pair of 160 ranks of one host meets once: 12,720 communicators."""
        world = 160
        os.mkdir(self.path("run"))
        for rank in range(world):
            # In round d of a tournament i meets d - i: no pair waits for another round.
            meetings = sorted(((rank + other) % world, other) for other in range(world) if other != rank)
            self.write_rank(rank, world, (collective(20 * turn, 10, f"{min(rank, other)}-{max(rank, other)}", sorted((rank, other)), 1)
                                          for turn, other in meetings))
        report, _ = self.measured(self.path("run"), "ranks,collectives", "--host", "one")
        self.assertEqual(len(report["ranks"]), world)
        self.assertEqual(sum(row["matched"] for row in report["collectives"]), world * (world - 1) // 2)


class OneRankOfMany(Sizes):
    RANKS, ROUNDS = 8, 200

    def check(self, rows_of):
        os.mkdir(self.path("run"))
        for rank in range(self.RANKS):
            self.write_rank(rank, self.RANKS, rows_of(rank))
        report, _ = self.measured(self.path("run"))
        named = {row["name"]: row for row in report["kernels"]}
        (met,) = [row for row in report["collectives"] if len(row["members"]) == self.RANKS]
        self.assertEqual((met["instances"], met["matched"], met["complete"]), (self.ROUNDS, self.ROUNDS, True))
        return report, named

    def together(self, turn):
        return collective(1000 * turn + 900, 50, "0", range(self.RANKS), turn)

    def test_with_a_hundred_times_the_kernels_is_joined_to_the_others(self):
        def rows_of(rank):
            count = 500 if rank == 3 else 5
            for turn in range(self.ROUNDS):
                yield from (kernel(1000 * turn + i, 1, "gemm") for i in range(count))
                yield self.together(turn)
        _, named = self.check(rows_of)
        self.assertEqual(named["gemm"]["instances"], self.ROUNDS * (500 + 7 * 5))

    def test_with_a_hundred_times_the_collectives_is_joined_to_the_others(self):
        def rows_of(rank):
            for turn in range(self.ROUNDS):
                if rank == 3:
                    yield from (collective(1000 * turn + 8 * i, 4, "own", (3, 9), 100 * turn + i) for i in range(100))
                yield kernel(1000 * turn + 850, 10, "gemm")
                yield self.together(turn)
        report, _ = self.check(rows_of)
        self.assertEqual([row["collectives"] for row in report["ranks"]],
                         [self.ROUNDS * (101 if rank == 3 else 1) for rank in range(self.RANKS)])


if __name__ == "__main__":
    unittest.main()
