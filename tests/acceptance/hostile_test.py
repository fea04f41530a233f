"""Input made to harm, one table a kind: for each a clear answer, bounded memory and time, and the good data beside it kept.

Files and stores go through the programs one by one, in processes of their own whose peak memory is measured.
"""
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import unittest

from support import BIN, ROOT, TempDirTest, simulate

MOST_MEMORY_KB = 256 * 1024
MOST_SECONDS = 20
MIB = 1 << 20
# A process counts the memory of the one that it was forked from, and this one holds what it writes: a small one stands between.
PEAK_OF = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(process.pid, 0)
with open(sys.argv[1], "w") as file: file.write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status) % 256)
"""
START = 1_769_904_000_000_000  # us, 2026
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n WHERE x < 0"


def event(at=0, name='"good"', dur="5", more="", args="", cat="kernel"):
    return (f'{{"ph":"X","cat":"{cat}","name":{name},"pid":0,"tid":7,"ts":{START + at},"dur":{dur}{more},'
            f'"args":{{"device":0,"stream":7,"correlation":{at}{args}}}}}')


GOOD = [event(10), event(20), event(30)]


def trace(*events, head=""):
    """A trace with three good kernels around whatever is given."""
    return '{' + head + '"traceEvents":[' + ",".join([GOOD[0], *events, *GOOD[1:]]) + "]}"


def ranks(rank, world, more=""):
    return f'"distributedInfo":{{"rank":{rank},"world_size":{world}{more}}},'


def group(config):
    return ranks(0, 2, f',"pg_config":[{config}]')


def collective(args):
    return event(15, '"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"', args="," + args)


# name -> (content, kernels that must still be counted). Content: text, or bytes.
SALVAGED = {
    "a gzip bomb of 1 GiB": lambda: (gzip.compress(b'{"traceEvents":[') + gzip.compress(b" " * (16 * MIB)) * 64
                                     + gzip.compress(("," .join(GOOD) + "]}").encode()), 3),
    "gzip with another file behind it": lambda: (gzip.compress(trace().encode()) + b"MZ" + b"\x90" * 1000, 3),
    "gzip whose checksum is wrong": lambda: (gzip.compress(trace().encode())[:-8] + b"\1\2\3\4" + b"\0" * 4, 0),
    "arguments a million levels deep": lambda: (trace(event(15, args=',"x":' + "[" * MIB + "]" * MIB)), 3),
    "objects a million levels deep": lambda: (trace(event(15, args=',"x":' + '{"x":' * MIB + "1" + "}" * MIB)), 3),
    "levels that never close": lambda: (trace("[" * 5 * MIB), 1),
    "a string that never ends": lambda: ('{"traceEvents":[' + GOOD[0] + ',{"name":"' + "a" * 64 * MIB, 1),
    "a name of 48 MiB": lambda: (trace(event(15, '"' + "n" * 48 * MIB + '"')), 3),
    "a number of a million digits": lambda: (trace(event(15, dur="9" * MIB)), 3),
    "a million escapes": lambda: (trace(event(15, '"' + r"\u0000" * MIB + '"')), 3),
    "lone surrogates": lambda: (trace(event(15, r'"\ud800\udfff\udc00"')), 4),
    "infinite exponents": lambda: (trace(event(15, dur="1e999999999"), event(16, dur="-1e999999999")), 3),
    "numbers beyond 64 bits": lambda: (trace(event(15, more=',"id":99999999999999999999',
                                                  args=',"bytes":18446744073709551616,"grid":[4294967296,-1,1e30]')), 3),
    "text where numbers belong": lambda: (trace(event(15, dur='"5"'), event(16, dur="[]"), event(17, dur="null")), 3),
    "streams and devices out of range": lambda: (trace(event(15, args=',"stream":-9223372036854775808'),
                                                      event(16, args=',"device":9223372036854775807')), 3),
    "a world of 2^31 - 1 ranks": lambda: (trace(head=ranks(0, 2147483647)), 3),
    "rank 2^31 - 1 of 2^31 - 1": lambda: (trace(head=ranks(2147483646, 2147483647)), 3),
    "a rank beyond 32 bits in a negative world": lambda: (trace(head=ranks(1 << 40, -5)), 3),
    "a group of a million ranks": lambda: (trace(head=group('{"pg_name":"0","ranks":' + json.dumps(list(range(1_000_000))) + "}")), 3),
    "a group of 2^31 ranks of which most are elided": lambda: (trace(
        collective('"Process Group Name":"0","Process Group Ranks":"[0, 1, ..., 2147483647]","Group size":2147483647')), 4),
    "a hundred thousand groups": lambda: (trace(head=group(",".join(f'{{"pg_name":"{i}","ranks":[0,1]}}' for i in range(100_000)))), 3),
    "a hundred thousand devices": lambda: (trace(head='"deviceProperties":['
                                                 + ",".join(f'{{"id":{i},"name":"x"}}' for i in range(100_000)) + "],"), 3),
    "negative sizes of collectives": lambda: (trace(
        collective('"Collective name":"allreduce","In msg nelems":-9223372036854775808,"dtype":"Float","Group size":-1')), 4),
    "sizes of collectives that overflow": lambda: (trace(
        collective('"Collective name":"allreduce","In msg nelems":9223372036854775807,"dtype":"Double","Group size":2')), 4),
    "an epoch before time": lambda: (trace(head='"baseTimeNanoseconds":-9223372036854775808,'), 3),
    "an epoch after time": lambda: (trace(head='"baseTimeNanoseconds":9223372036854775807,'), 3),
    "steps with numbers of a hundred digits": lambda: (trace(event(5, f'"ProfilerStep#{"9" * 100}"', cat="user_annotation")), 3),
    "two lists of events": lambda: ('{"traceEvents":[' + GOOD[0] + '],"traceEvents":[' + ",".join(GOOD[1:]) + "]}", 3),
    "metadata of 32 MiB": lambda: (trace(head='"notes":"' + "m" * 32 * MIB + '",'), 3),
    "zeros in the middle": lambda: (trace().encode().replace(GOOD[1].encode(), b"\0" * MIB), 1),
}
# Content that holds no trace: told, and left out.
LEFT_OUT = {
    "gzip inside gzip": lambda: gzip.compress(gzip.compress(trace().encode())),
    "a gzip header that never ends": lambda: b"\x1f\x8b\x08\x08" + b"\0" * 6 + b"n" * MIB,
    "gzip of nothing, a thousand times": lambda: gzip.compress(b"") * 1000,
    "UTF-16": lambda: trace().encode("utf-16"),
    "zeros": lambda: bytes(16 * MIB),
    "an ELF header": lambda: b"\x7fELF" + bytes(1000),
    "a database header and noise": lambda: b"SQLite format 3\0" + b"\xff" * 8192,
    "a database of 2^32 pages": lambda: b"SQLite format 3\0\x10\0\1\1\0\x40\x20\x20" + b"\0\0\0\1\xff\xff\xff\xff" + bytes(4068),
}

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
EXPORT = f"""
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE {KERNELS} (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER,
  blockX INTEGER, blockY INTEGER, blockZ INTEGER, graphNodeId INTEGER);
INSERT INTO StringIds VALUES (1, 'good');
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.13.2');
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ({START * 1000}, '', '');
INSERT INTO {KERNELS} VALUES (10, 15, 0, 1, 7, 1, 281474993487872, 1, 1, 1, 1, 1, 1, 1, 1, NULL);
INSERT INTO {KERNELS} VALUES (20, 25, 0, 1, 7, 2, 281474993487872, 1, 1, 1, 1, 1, 1, 1, 1, NULL);
"""
ROW = f"INSERT INTO {KERNELS} VALUES ({{}}, {{}}, 0, 1, 7, 3, 281474993487872, 1, 1, 1, 1, 1, 1, 1, 1, NULL)"
LOW, HIGH = "-9223372036854775808", "9223372036854775807"
# name -> (SQL after EXPORT, kernels still counted; None: refused)
EXPORTS = {
    "an endless view in place of the kernels": (f"DROP TABLE {KERNELS}; CREATE VIEW {KERNELS} AS " + ENDLESS.format(
        "x AS start, x AS end, x AS deviceId, x AS streamId, x AS correlationId, x AS globalPid, x AS demangledName, x AS shortName"), 0),
    "an endless view in place of the strings": ("DROP TABLE StringIds; CREATE VIEW StringIds AS "
                                                + ENDLESS.format("x AS id, x AS value"), None),
    "an endless view beside them": ("CREATE VIEW NVTX_EVENTS AS " + ENDLESS.format("x AS start, x AS end, x AS text"), 2),
    "triggers": (f"CREATE TRIGGER t AFTER DELETE ON StringIds BEGIN DELETE FROM {KERNELS}; END", 2),
    "a virtual table in place of the kernels": (f"DROP TABLE {KERNELS}; CREATE VIRTUAL TABLE {KERNELS} USING fts5(start, end, deviceId, "
                                                "streamId, correlationId, globalPid, demangledName, shortName)", 0),
    "a virtual table beside them": ("CREATE VIRTUAL TABLE NVTX_EVENTS USING rtree(id, start, end)", 2),
    "a column that makes a gigabyte": (f"ALTER TABLE {KERNELS} ADD COLUMN mangledName AS (hex(zeroblob(1000000000)))", 2),
    "an unknown collation": ("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER); "
                             "PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql = replace(sql, 'text TEXT', 'text TEXT COLLATE evil') "
                             "WHERE name = 'NVTX_EVENTS'", 2),
    "times that overflow": (";".join(ROW.format(*times) for times in ((LOW, HIGH), (HIGH, LOW), (HIGH, HIGH), (LOW, LOW), (0, HIGH))), 2),
    "text and blobs in place of numbers": (";".join(ROW.format(*times) for times in (("'x'", "'y'"), ("x'00ff'", "zeroblob(1000)"),
                                                                                        ("1e308", "-1e308"), ("NULL", "NULL"))), 2),
    "processes and devices out of range": (f"UPDATE {KERNELS} SET globalPid = {LOW}, deviceId = {HIGH}, streamId = {LOW} WHERE start = 20", 1),
    "strings of 24 MiB": ("INSERT INTO StringIds VALUES (2, hex(zeroblob(12582912))); "
                          f"UPDATE {KERNELS} SET demangledName = 2 WHERE start = 20", 2),
    "strings with negative ids": (f"INSERT INTO StringIds VALUES ({LOW}, 'x'); UPDATE {KERNELS} SET demangledName = {LOW} WHERE start = 20", 2),
    "an epoch beyond time": (f"UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = {HIGH}", 2),
    "a version that is no number": ("UPDATE META_DATA_EXPORT SET value = '99999999999999999999.x.-1'", 2),
    "a version of a thousand rows": ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000) "
                                     "INSERT INTO META_DATA_EXPORT SELECT 'EXPORT_SCHEMA_VERSION', x FROM n", 2),
    "five thousand tables": ("BEGIN;" + ";".join(f"CREATE TABLE t{i} (a)" for i in range(5000)) + ";COMMIT", 2),
    "a schema that lacks columns": (f"ALTER TABLE {KERNELS} DROP COLUMN end", 0),
    "no row ids": (f"CREATE TABLE k (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER PRIMARY KEY, "
                   f"globalPid INTEGER, demangledName INTEGER, shortName INTEGER) WITHOUT ROWID; INSERT INTO k SELECT start, end, deviceId, streamId, "
                   f"correlationId, globalPid, demangledName, shortName FROM {KERNELS}; DROP TABLE {KERNELS}; ALTER TABLE k RENAME TO {KERNELS}", None),
    "indexes that compute": (f"CREATE INDEX i ON {KERNELS} (abs(start)) WHERE abs(start) > 1", 2),
    "blobs in place of payloads": ("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, "
                                   "domainId INTEGER, binaryData BLOB); INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, 'ncclCommInitRank', 1, 1, "
                                   "randomblob(16777216)), (3, -4, 59, zeroblob(1000), -1, -1, x'ffffffffffffffffffffffffffffffff')", 2),
}
# name -> (SQL on a store, words of the refusal; None: it opens)
STORES = {
    "an endless view in place of a table": ("DROP TABLE summary; CREATE VIEW summary AS " + ENDLESS.format("x AS source, x AS row"), "summary"),
    "a virtual table": ("CREATE VIRTUAL TABLE more USING fts5(text)", "virtual tables"),
    "a trigger that adds runs": ("CREATE TRIGGER t AFTER UPDATE ON run BEGIN INSERT INTO run SELECT * FROM run; END", None),
    "a schema of the future": ("PRAGMA user_version=2147483647", "newer lockstep"),
    "a schema before the first": ("PRAGMA user_version=-1", "schema"),
    "another program's mark": ("PRAGMA application_id=1", "no lockstep store"),
    "a table that is missing": ("DROP TABLE batch", "batch"),
}


class Measured(TempDirTest):
    def measured(self, *args, program="lockstep"):
        """Exit code, stdout and stderr of a process that stays within memory and time."""
        out, err, peak = self.path("stdout"), self.path("stderr"), self.path("peak")
        command = ["timeout", "-k", "2", str(MOST_SECONDS), os.path.join(BIN, program), *map(str, args)]
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            process = subprocess.run([sys.executable, "-c", PEAK_OF, peak, *command], stdin=subprocess.DEVNULL,
                                     stdout=stdout, stderr=stderr, cwd=ROOT, check=False)
        told = []
        for path in (out, err):
            with open(path, encoding="utf-8", errors="replace") as file:
                told.append(file.read())
        self.assertIn(process.returncode, (0, 1, 2), told[1][-2000:])
        with open(peak, encoding="utf-8") as file:
            self.assertLess(int(file.read()), MOST_MEMORY_KB, "peak memory")
        return process.returncode, *told

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        return self.path(name)

    def check_file(self, path, kernels):
        """Analysed alone: so many kernels are counted, and what else was met is told by a status, a reason or a counter."""
        code, out, err = self.measured("analyze", path, "--view", "all", "--format", "json", "--jobs", "1")
        if code == 2:
            self.assertFalse(kernels, err)
            self.assertIn(os.path.basename(path), err)
            self.assertLess(len(err), 20_000)
            return
        report = json.loads(out)
        self.assertGreaterEqual(sum(row["kernels"] for row in report["ranks"]), kernels, err)
        self.assertLess(len(out), 16 * MIB)

    def check_left_out(self, path):
        """Beside a good trace: told on stderr and in the report, and the good one has all its kernels."""
        good = self.write("good.json", trace(head=ranks(0, 1)))
        code, out, err = self.measured("analyze", good, path, "--view", "ranks,quality", "--format", "json", "--jobs", "1")
        self.assertEqual(code, 0, err)
        report = json.loads(out)
        (entry,) = [file for file in report["quality"]["files"] if file["path"] == path]
        self.assertIn(entry["status"], ("skipped", "refused"))
        self.assertTrue(entry["reason"])
        self.assertIn(3, [row["kernels"] for row in report["ranks"]])


class Traces(Measured):
    def test_that_hold_something_good_are_salvaged(self):
        for name, make in SALVAGED.items():
            with self.subTest(name):
                content, kernels = make()
                self.check_file(self.write("trace.json", content), kernels)

    def test_that_are_none_are_left_out(self):
        for name, make in LEFT_OUT.items():
            with self.subTest(name):
                self.check_left_out(self.write("other.json", make()))

    def test_that_are_no_files_are_left_out(self):
        os.mkfifo(self.path("fifo.json"))
        os.symlink("loop.json", self.path("loop.json"))
        os.symlink("/dev/zero", self.path("zero.json"))
        with open(self.path("sparse.json"), "wb") as file:
            file.truncate(1 << 40)
        for name in ("fifo", "loop", "zero", "sparse"):
            with self.subTest(name):
                self.check_left_out(self.path(name + ".json"))


class Exports(Measured):
    def test_with_schemas_and_values_of_a_stranger(self):
        for name, (sql, kernels) in EXPORTS.items():
            with self.subTest(name):
                path = self.path("export.sqlite")
                if os.path.exists(path):
                    os.remove(path)
                db = sqlite3.connect(path)
                db.executescript(EXPORT)
                self.assertEqual(db.execute(f"SELECT count(*) FROM {KERNELS}").fetchone(), (2,))
                db.executescript(sql)
                db.commit()
                db.close()
                self.check_file(path, kernels or 0)


class Stores(Measured):
    def good_store(self):
        traces = simulate(self.path("traces"), "--program", "decode", "--tp", 2, "--hosts", 1, "--gpus-per-host", 2, "--layers", 2,
                          "--steps", 2, "--format", "kineto")
        self.measured("analyze", traces, "--run", "kept", "--store", self.path("good.db"))
        with open(self.path("good.db"), "rb") as file:
            return file.read()

    def test_of_a_stranger_are_refused_or_read(self):
        good = self.good_store()
        for name, (sql, word) in STORES.items():
            with self.subTest(name):
                path = self.write("store.db", good)
                db = sqlite3.connect(path)
                db.executescript(sql)
                db.close()
                code, out, err = self.measured("runs", "--store", path)
                if word is None:
                    self.assertEqual(code, 0, err)
                    self.assertIn("kept", out)
                else:
                    self.assertEqual(code, 2, out)
                    self.assertIn(word, err)
                    self.assertIn("store", err)

    def test_whose_blobs_are_bombs_or_noise_are_told_by_run(self):
        from raw_wire import zstd_zeros
        good = self.good_store()
        for table, column in (("kernel", "rows"), ("bucket", "columns"), ("batch_instances", "block"), ("summary", "row")):
            for blob in (zstd_zeros(1 << 30), b"\xff" * 1000, b""):
                with self.subTest(table=table, bytes=len(blob)):
                    path = self.write("store.db", good)
                    db = sqlite3.connect(path)
                    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[2] == "BLOB"]
                    self.assertTrue(columns, table)
                    db.execute("DELETE FROM answer")
                    for name in columns:
                        db.execute(f"UPDATE {table} SET {name} = ?", (blob,))
                    db.commit()
                    db.close()
                    code, _, err = self.measured("show", "kept", "--store", path, "--view", "all", "--format", "json")
                    self.assertEqual(code, 2 if blob else code, err)
                    self.assertTrue(err or not blob)

    def test_whose_kept_answers_are_forged_do_no_harm(self):
        from raw_wire import compressed_columns, varint
        good = self.good_store()
        for text in (b"{}", b'{"run": 1}', b'{"schema": "lockstep.report/1", "notices": [], "run": {}, "summary": []}', b"{\x1b[2J", b"{" * 9999):
            with self.subTest(text[:20]):
                path = self.write("store.db", good)
                db = sqlite3.connect(path)
                db.execute("UPDATE answer SET report = ?", (compressed_columns(b"\x0a" + varint(len(text)) + text),))
                db.commit()
                db.close()
                for more in ([], ["--format", "json"], ["--view", "ranks", "--format", "csv"]):
                    code, out, err = self.measured("show", "kept", "--store", path, *more)
                    self.assertIn(code, (0, 1, 2), err)
                    self.assertNotIn("\x1b", out + err)

    def test_whose_kept_answers_are_noise_are_analysed_again(self):
        from raw_wire import zstd_zeros
        good = self.good_store()
        text = self.measured("show", "kept", "--store", self.path("good.db"))[1]
        for blob in (zstd_zeros(1 << 30), b"\xff" * 1000, b""):
            with self.subTest(bytes=len(blob)):
                path = self.write("store.db", good)
                db = sqlite3.connect(path)
                db.execute("UPDATE answer SET report = ?", (blob,))
                db.commit()
                db.close()
                code, out, _ = self.measured("show", "kept", "--store", path)
                self.assertEqual((code, out), (0, text))


class Outputs(Measured):
    NAMES = ['"\\u001b[2J\\u001b]0;owned\\u0007evil"', '"=HYPERLINK(\\"http://x\\",\\"y\\")"', '"+1+cmd|\' /C calc\'!A0"', '"@SUM(1)"', '"-2+3"',
             '"\\u009b31m"', '"a\\r\\nb\\tc"', '"\\u202egnp.exe"', '"<script>alert(1)</script>"', '"\\u0000"']

    def setUp(self):
        super().setUp()
        self.file = self.write("names.json", trace(*(event(100 + 10 * i, name) for i, name in enumerate(self.NAMES)), head=ranks(0, 1)))

    def test_text_moves_no_cursor(self):
        for views in ("all", "kernels", "summary"):
            code, out, err = self.measured("analyze", self.file, "--view", views, "--color", "never", "--limit", "100")
            self.assertEqual(code, 0, err)
            for told in (out, err):
                bad = [c for c in told if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or 0x202a <= ord(c) <= 0x202e]
                self.assertEqual(bad, [], views)
        self.assertIn("evil", self.measured("analyze", self.file, "--view", "kernels", "--limit", "100")[1])

    def test_csv_holds_no_formula(self):
        for style in ("plain", "nsys"):
            code, out, err = self.measured("analyze", self.file, "--view", "kernels", "--format", "csv", "--csv-style", style)
            self.assertEqual(code, 0, err)
            self.assertIn("HYPERLINK", out)
            for field in out.replace("\n", ",").split(","):
                field = field.strip('"')
                self.assertFalse(field[:1] in "=+@\t\r" and field[:1], field)
                self.assertFalse(field.startswith("-2+3"), field)
            self.assertNotIn("\x1b", out)

    def test_json_is_json(self):
        code, out, err = self.measured("analyze", self.file, "--view", "kernels", "--format", "json")
        self.assertEqual(code, 0, err)
        self.assertNotIn("\x1b", out)
        names = {row["name"] for row in json.loads(out)["kernels"]}
        self.assertIn("<script>alert(1)</script>", names)


class FilesOfFlags(Measured):
    """Token, key, certificate, rank map and family files."""

    def setUp(self):
        super().setUp()
        self.good = self.write("good.json", trace(head=ranks(0, 1)))

    def hostile_files(self):
        os.mkfifo(self.path("fifo"))
        os.symlink("/dev/zero", self.path("zero"))
        with open(self.path("huge"), "wb") as file:
            file.truncate(1 << 40)
        os.mkdir(self.path("folder"))
        for name, content in (("noise", bytes(range(256)) * 100), ("empty", b""), ("line", b"a" * MIB), ("lines", b"\n" * MIB)):
            self.write(name, content)
        os.symlink("nothing", self.path("missing"))
        for name in ("huge", "noise", "empty", "line", "lines"):
            os.chmod(self.path(name), 0o600)
        return [self.path(name) for name in ("fifo", "zero", "huge", "folder", "noise", "empty", "line", "lines", "missing")]

    def test_are_refused_by_name_and_without_their_content(self):
        agent = ["--aggregator", "127.0.0.1:1", "--run", "r", "--connect-timeout", "0"]
        uses = [("lockstep-agent", [*agent, "--token-file"], [self.good]), ("lockstep-agent", [*agent, "--redact", "--redact-key"], [self.good]),
                ("lockstep-agent", [*agent, "--tls-ca"], [self.good]), ("lockstep-agent", [*agent, "--rank-map"], [self.good]),
                ("lockstep-aggregator", ["--listen", "127.0.0.1:0", "--store", self.path("s.db"), "--tokens"], []),
                ("lockstep-aggregator", ["--listen", "127.0.0.1:0", "--store", self.path("s.db"), "--tls-key", self.good, "--tls-cert"], [])]
        for path in self.hostile_files():
            for program, before, after in uses:
                if before[-1] == "--tokens" and os.path.basename(path) in ("empty", "lines"):
                    continue  # nobody may do anything: nothing wrong
                with self.subTest(program=program, flag=before[-1], file=os.path.basename(path)):
                    code, _, err = self.measured(*before, path, *after, program=program)
                    self.assertIn(code, (1, 2))
                    self.assertIn(os.path.basename(path), err)
                    self.assertLess(len(err), 2000)


if __name__ == "__main__":
    unittest.main()
