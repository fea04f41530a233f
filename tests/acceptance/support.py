"""What the acceptance tests share: the programs as a person runs them, and the data they run on.

LOCKSTEP_BIN is the folder of the built programs. Tests on real traces are skipped, loudly, where ../shared is absent.
"""
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("LOCKSTEP_BIN", os.path.join(ROOT, "build", "release", "bin"))
DATA = os.path.join(ROOT, "..", "shared", "data")
REFERENCE = os.path.join(ROOT, "..", "shared", "reference")

needs_traces = unittest.skipUnless(os.path.isdir(DATA), "SKIPPED LOUDLY: the real traces at ../shared/data are absent")


def run(program, *args, timeout=300, **kwargs):
    return subprocess.run([os.path.join(BIN, program), *map(str, args)], capture_output=True, text=True, timeout=timeout,
                          cwd=ROOT, **kwargs)


def analyze(*args, code=0):
    """The report document of `lockstep analyze`."""
    done = run("lockstep", "analyze", *args, "--format", "json")
    assert done.returncode == code, f"exit {done.returncode}\n{done.stderr}"
    return json.loads(done.stdout)


def simulate(out, *args):
    done = run("lockstep-simulate", *args, "--out", out)
    assert done.returncode == 0, done.stderr
    return out


def nsys_export(path):
    """A new export of nsys without any record, open: what every one has."""
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)")
    db.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT)")
    db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '', '')")
    db.execute("CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT)")
    db.execute("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.13.2')")
    return db


def string_ids(db):
    """A function that gives the id of a text in StringIds, where it puts each once."""
    ids = {}

    def id_of(text):
        if text not in ids:
            ids[text] = len(ids) + 1
            db.execute("INSERT INTO StringIds VALUES (?, ?)", (ids[text], text))
        return ids[text]
    return id_of


class TempDirTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="lockstep-acceptance-")
        self.addCleanup(shutil.rmtree, self.dir)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)
