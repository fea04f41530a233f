"""What --redact sends: every figure as without it, no name; and what never leaves a node, redacted or not."""
import gzip
import hashlib
import hmac
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import unittest

from loopback_test import Aggregator
from support import BIN, ROOT, TempDirTest, run, simulate

KEY = "a-key-for-all-nodes-4711"
TRAIN = ["--program", "train", "--tp", 2, "--dp", 2, "--hosts", 2, "--gpus-per-host", 2, "--layers", 3, "--steps", 8,
         "--cause", "late_host:rank=1,us=300,p=0.5", "--seed", 5]
VIEWS = ["--view", "all", "--instances=all", "--limit", "100000", "--format", "json"]
WORD = re.compile(r"[A-Za-z_][\w.]*")
CANARY = "CANARY-4711-never-leaves"


def hashed(text):
    return hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest()[:16]


class Pair(TempDirTest):
    def setUp(self):
        super().setUp()
        with open(self.path("key"), "w", encoding="utf-8") as file:
            file.write(KEY + "\n")
        os.chmod(self.path("key"), 0o600)
        self.redact = ["--redact", "--redact-key", self.path("key")]

    def agent(self, address, *args, code=0):
        done = run("lockstep-agent", "--aggregator", address, "--run", "r", "--host", "none", *args)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def sent(self, name, paths, *args):
        """What an aggregator answers after an agent has sent the files: (report, the store's bytes, names in the store)."""
        store = self.path(name + ".db")
        aggregator = Aggregator(store)
        self.agent(aggregator.address, *args, *paths)
        done = run("lockstep", "show", "r", "--aggregator", aggregator.address, *VIEWS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(aggregator.stop(), 0, aggregator.errors)
        with open(store, "rb") as file:
            content = file.read()
        with sqlite3.connect(store) as db:
            names = {text for (text,) in db.execute("SELECT text FROM name")}
        return json.loads(done.stdout), content, names


class Redacted(Pair):
    def expected(self, names, calls, sent):
        """Clear to redacted names, by HMACs of its own: one sent name for each, of the whole and of a word of it; and the words."""
        table, bases = {}, {}
        for name in names - calls - {"", "(rest)"}:
            step = re.fullmatch(r"(ProfilerStep#)(\d+)", name)
            if step:
                table[name] = f"n_{hashed(step[1])}#{step[2]}"
                table["ProfilerStep"] = f"n_{hashed(step[1])}"
                continue
            (table[name],) = [other for other in sent if other.endswith(f"<{hashed(name)}>")]
            base = table[name].split("<")[0]
            mangled = [name[at.end():at.end() + int(at[0])] for at in re.finditer(r"\d+", name)]
            words = [word for word in [name, *WORD.findall(name), *mangled] if f"n_{hashed(word)}" == base]
            self.assertTrue(words, f"{name}: {table[name]}")
            bases[words[0]] = base
        return table, {word: base for word, base in bases.items() if "_" in word}  # kernels, not words of English

    def translated(self, value, table, bases):
        if isinstance(value, dict):
            return {key: self.translated(item, table, bases) if key != "phase" else item for key, item in value.items()}
        if isinstance(value, list):
            return [self.translated(item, table, bases) for item in value]
        if not isinstance(value, str) or value in table:
            return table.get(value, value) if isinstance(value, str) else value
        return WORD.sub(lambda word: bases.get(word[0], word[0]), value)

    def unordered(self, value):
        """Lists in an order of their own: equal figures are listed by name."""
        if isinstance(value, dict):
            return {key: self.unordered(item) for key, item in value.items()}
        if isinstance(value, list):
            return sorted((self.unordered(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
        return value

    def check(self, form, *more):
        traces = simulate(self.path("traces-" + form), *TRAIN, "--format", form, *more)
        files = sorted(os.path.join(traces, name) for name in os.listdir(traces) if name.startswith("rank"))
        clear, _, names = self.sent("clear-" + form, files)
        redacted, content, sent_names = self.sent("redacted-" + form, files, *self.redact)
        calls = {row["api"] for row in clear["host"]}
        table, bases = self.expected(names, calls, sent_names)
        self.assertEqual(sent_names, {table.get(name, name) for name in names})
        self.assertEqual(self.unordered(redacted), self.unordered(self.translated(clear, table, bases)))
        self.assertGreater(len(clear["kernels"]) * len(clear["nvtx"]) * len(clear["collectives"]) * len(calls), 0)
        for name in names - calls - {"", "(rest)"}:
            self.assertNotIn(name.encode(), content, name)
        return clear

    def test_kineto_runs_have_every_figure_and_no_name(self):
        self.check("kineto")

    def test_nsys_runs_have_every_figure_and_no_name(self):
        self.check("nsys")

    def test_a_redacting_agent_never_sends_what_was_spooled_with_names(self):
        traces = simulate(self.path("traces"), *TRAIN, "--format", "kineto")
        spool = ["--spool", self.path("spool")]
        agent = subprocess.Popen([os.path.join(BIN, "lockstep-agent"), "--aggregator", "127.0.0.1:1", "--run", "r", *spool, "--watch", traces,
                                  "--drain-timeout", "1"], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for line in agent.stderr:
            if "in the spool" in line:
                break
        agent.terminate()
        agent.communicate(timeout=60)
        refused = self.agent("127.0.0.1:1", *spool, *self.redact, f"{traces}/rank0.json.gz", code=2)
        self.assertIn("run 'r'", refused.stderr)
        self.assertIn("--redact", refused.stderr)

    def test_the_spool_of_a_redacting_agent_holds_no_name(self):
        traces = simulate(self.path("traces"), *TRAIN, "--format", "kineto")
        agent = subprocess.Popen([os.path.join(BIN, "lockstep-agent"), "--aggregator", "127.0.0.1:1", "--run", "r", "--spool",
                                  self.path("spool"), "--watch", traces, "--drain-timeout", "1", *self.redact], cwd=ROOT,
                                 stderr=subprocess.PIPE, text=True)
        for line in agent.stderr:
            if "in the spool" in line:
                break
        agent.terminate()
        agent.communicate(timeout=60)
        content = b"".join(pathlib.Path(self.path("spool"), name).read_bytes() for name in os.listdir(self.path("spool")))
        self.assertIn(hashed("ProfilerStep#").encode(), content)
        for name in (b"ProfilerStep", b"ncclDevKernel"):
            self.assertNotIn(name, content)

    def test_the_flags_belong_together(self):
        for flags in (["--redact"], ["--redact-key", self.path("key")]):
            self.assertIn("belong together", self.agent("127.0.0.1:1", *flags, "x", code=1).stderr)
        os.chmod(self.path("key"), 0o644)
        told = self.agent("127.0.0.1:1", *self.redact, "x", code=1).stderr
        self.assertIn("chmod 600", told)
        self.assertNotIn(KEY, told)


class NeverLeaves(Pair):
    """Environment, command lines and other metadata of a trace."""

    def kineto(self):
        path = self.path("rank0.json.gz")
        trace = simulate(self.path("traces"), *TRAIN, "--format", "kineto")
        with gzip.open(f"{trace}/rank0.json.gz") as file:
            document = json.load(file)
        document["environment"] = {"SECRET": CANARY}
        document["argv"] = ["python", CANARY]
        document["user_metadata"] = CANARY
        document["distributedInfo"]["master_secret"] = CANARY
        document["traceEvents"].insert(0, {"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": CANARY}})
        document["traceEvents"].insert(0, {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": CANARY}})
        for event in document["traceEvents"]:
            if event.get("ph") == "X":
                event.setdefault("args", {})["Concrete Inputs"] = [CANARY]
        with gzip.open(path, "wt") as file:
            json.dump(document, file)
        return path

    def nsys(self):
        traces = simulate(self.path("nsys"), *TRAIN, "--format", "nsys")
        path = os.path.join(traces, sorted(name for name in os.listdir(traces) if name.endswith(".sqlite"))[0])
        with sqlite3.connect(path) as db:
            tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            self.assertIn("TARGET_INFO_SYSTEM_ENV", tables)
            columns = [row[1] for row in db.execute("PRAGMA table_info(TARGET_INFO_SYSTEM_ENV)")]
            environment = {"name": "DeviceEnvironment", "nameEnum": 1, "devStateName": "", "value": f"SECRET={CANARY};RANK=0",
                           "globalVid": 0}
            row = {name: environment.get(name, 0) for name in columns}
            db.execute(f"INSERT INTO TARGET_INFO_SYSTEM_ENV ({','.join(row)}) VALUES ({','.join('?' * len(row))})", list(row.values()))
            db.execute("CREATE TABLE IF NOT EXISTS ProcessStreams (globalPid INTEGER, filenameId INTEGER, contentId INTEGER)")
            db.execute("INSERT INTO StringIds VALUES ((SELECT max(id) + 1 FROM StringIds), ?)", (CANARY,))
            db.execute("INSERT INTO ProcessStreams SELECT 1, max(id), max(id) FROM StringIds")
            db.execute("CREATE TABLE IF NOT EXISTS PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)")
            db.execute("INSERT INTO PROCESSES (globalPid, pid, name) VALUES (1, 1, ?)", (CANARY,))
            db.execute("INSERT INTO META_DATA_CAPTURE VALUES ('COMMAND_LINE', ?)", (f"python train.py --key {CANARY}",)
                       ) if "META_DATA_CAPTURE" in tables else None
        return path

    def check(self, path, *flags):
        with open(path, "rb") as file:
            data = file.read()
        self.assertIn(CANARY.encode(), gzip.decompress(data) if path.endswith(".gz") else data)
        spool = self.path("spool-" + os.path.basename(path) + str(len(flags)))
        waiting = subprocess.Popen([os.path.join(BIN, "lockstep-agent"), "--aggregator", "127.0.0.1:1", "--run", "r", "--spool", spool,
                                    "--connect-timeout", "1", "--drain-timeout", "1", *flags, path], cwd=ROOT,
                                   stderr=subprocess.PIPE, text=True)
        _, told = waiting.communicate(timeout=60)
        for name in os.listdir(spool):
            with open(os.path.join(spool, name), "rb") as file:
                self.assertNotIn(CANARY.encode(), file.read(), name)
        self.assertIn("spool", " ".join(os.listdir(spool)))
        report, content, names = self.sent(os.path.basename(path) + str(len(flags)), [path], *flags)
        self.assertGreater(len(names), 5)
        self.assertNotIn(CANARY.encode(), content)
        self.assertNotIn(CANARY, json.dumps(report) + told)

    def test_of_kineto_traces(self):
        path = self.kineto()
        self.check(path)
        self.check(path, *self.redact)

    def test_of_nsys_exports(self):
        path = self.nsys()
        self.check(path)
        self.check(path, *self.redact)


if __name__ == "__main__":
    unittest.main()
