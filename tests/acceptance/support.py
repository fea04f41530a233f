"""What the acceptance tests share: the programs as a person runs them, and the data they run on.

LOCKSTEP_BIN is the folder of the built programs. Tests on real traces are skipped, loudly, where ../shared is absent.
"""
import hashlib
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
    """Puts the traces of a simulated run into the folder `out`, which the caller may change.

    Each run is simulated once for all tests: what the same simulator wrote for the same arguments is copied.
    """
    kept = os.path.join(simulated_folder(), hashlib.sha256("\0".join(map(str, args)).encode()).hexdigest()[:24])
    if not os.path.isdir(kept):
        fresh = tempfile.mkdtemp(dir=os.path.dirname(kept))
        done = run("lockstep-simulate", *args, "--out", os.path.join(fresh, "run"))
        assert done.returncode == 0, done.stderr
        try:
            os.rename(os.path.join(fresh, "run"), kept)
        except OSError:
            assert os.path.isdir(kept)  # another test was faster
        shutil.rmtree(fresh)
    return shutil.copytree(kept, out, dirs_exist_ok=True)


def simulated_folder():
    """Where the runs of this simulator are kept; those of an earlier build of it are removed."""
    about = os.stat(os.path.join(BIN, "lockstep-simulate"))
    name = f"{about.st_size:x}-{about.st_mtime_ns:x}"
    parent = os.path.join(os.path.dirname(BIN), "simulated")
    folder = os.path.join(parent, name)
    os.makedirs(folder, exist_ok=True)
    for other in os.listdir(parent):
        if other != name:
            shutil.rmtree(os.path.join(parent, other), ignore_errors=True)
    return folder


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
