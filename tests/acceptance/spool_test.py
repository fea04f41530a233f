"""Agents with a spool that are killed, lose their aggregator and find their spool damaged: what arrives is the same."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

from support import BIN, ROOT, TempDirTest, run, simulate

PROGRAM = ["--program", "train", "--tp", 4, "--dp", 3, "--hosts", 3, "--gpus-per-host", 4, "--layers", 16, "--steps", 48,
           "--cause", "late_host:rank=5,us=80,p=0.4"]
SEED = int(os.environ.get("LOCKSTEP_SEED", "1"))
KILLS = 30


class Aggregator:
    def __init__(self, store, listen="127.0.0.1:0"):
        self.process = subprocess.Popen([os.path.join(BIN, "lockstep-aggregator"), "--listen", listen, "--store", store],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT)
        self.address = self.process.stdout.readline().split()[-1]

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.communicate(timeout=60)


class Spool(TempDirTest):
    def setUp(self):
        super().setUp()
        self.traces = simulate(self.path("traces"), *PROGRAM)
        self.files = [f"{self.traces}/rank{rank}.json.gz" for rank in range(12)]
        self.random = random.Random(SEED)

    def agent(self, address, *args):
        with open(self.path("agent.log"), "a", encoding="utf-8") as log:
            return subprocess.Popen([os.path.join(BIN, "lockstep-agent"), "--aggregator", address, "--run", "r", "--host",
                                     "none", *args], cwd=ROOT, stderr=log)

    def log(self):
        with open(self.path("agent.log"), encoding="utf-8") as file:
            return file.read()

    def show(self, aggregator):
        done = run("lockstep", "show", "r", "--aggregator", aggregator.address, "--view", "all", "--instances=all",
                   "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def undisturbed(self):
        aggregator = Aggregator(self.path("undisturbed.db"))
        agent = self.agent(aggregator.address, *self.files)
        self.assertEqual(agent.wait(120), 0, self.log())
        report = self.show(aggregator)
        aggregator.end()
        return report

    def segments(self):
        """None before an agent lived long enough to make the folder."""
        spool = self.path("spool")
        return sorted(name for name in os.listdir(spool) if name.endswith(".spool")) if os.path.isdir(spool) else []

    def kinds_of_frames(self):
        """What the segments hold, to tell why one was left (agent/spool/README.md)."""
        found = []
        for name in self.segments():
            with open(self.path("spool", name), "rb") as file:
                content = file.read()
            for frame in re.finditer(b"LSsp", content):
                kind, at = content[frame.start() + 13:frame.start() + 14], frame.start() + 36
                found.append((name, frame.start(), kind.hex(), content[at:at + 16].hex(), content[at + 16:at + 24].hex()))
        return found

    def damage_the_tail(self):
        """A torn or spoilt end of what was written last, as after a power cut."""
        if not self.segments():
            return
        path = self.path("spool", self.segments()[-1])
        size = os.path.getsize(path)
        with open(path, "r+b") as file:
            how = self.random.randrange(3)
            if how == 0:
                file.truncate(self.random.randrange(size + 1))
            elif how == 1 and size > 0:
                file.seek(self.random.randrange(size))
                file.write(b"\xff\x00")
            else:
                file.seek(0, os.SEEK_END)
                file.write(self.random.randbytes(100))

    def test_kills_and_damage_change_nothing(self):
        want = self.undisturbed()
        aggregator = Aggregator(self.path("store.db"))
        for kill in range(KILLS):
            # The aggregator is away for the first third, so that much waits in the spool; then it is killed now and then.
            if kill == 0 or kill % 5 == 4:
                aggregator.end(signal.SIGKILL)
            agent = self.agent(aggregator.address, "--spool", self.path("spool"), "--jobs", "2", *self.files)
            time.sleep(self.random.uniform(0.01, 0.25))
            if kill >= KILLS // 3 and aggregator.process.returncode is not None:
                aggregator = Aggregator(self.path("store.db"), aggregator.address)
                time.sleep(self.random.uniform(0, 0.1))
            agent.kill()
            agent.wait()
            if kill % 3 == 2:
                self.damage_the_tail()
        if aggregator.process.returncode is not None:
            aggregator = Aggregator(self.path("store.db"), aggregator.address)
        agent = self.agent(aggregator.address, "--spool", self.path("spool"), *self.files)
        self.assertEqual(agent.wait(120), 0, f"seed {SEED}\n{self.log()}")
        self.assertEqual(self.show(aggregator), want, f"seed {SEED}\n{self.log()}")
        self.assertEqual(self.segments(), [], f"seed {SEED}\n{self.kinds_of_frames()}\n{self.log()}")
        aggregator.end()

    def copy_store(self, source, target):
        """A copy as a backup makes it, of a store that nobody uses."""
        for ending in ("", "-wal", "-shm"):
            if os.path.exists(self.path(target + ending)):
                os.remove(self.path(target + ending))
            if os.path.exists(self.path(source + ending)):
                shutil.copy(self.path(source + ending), self.path(target + ending))

    def test_an_older_copy_of_the_store_gets_again_what_the_files_still_give(self):
        want = self.undisturbed()
        aggregator = Aggregator(self.path("store.db"))
        folder = self.path("watched")
        os.mkdir(folder)
        open(self.path("agent.log"), "w", encoding="utf-8").close()
        agent = self.agent(aggregator.address, "--spool", self.path("spool"), "--watch", self.traces, "--watch", folder,
                           "--pattern", "*.json.gz")
        try:
            self.await_log(" in the spool, ", len(self.files))
            self.assertEqual(self.await_report(aggregator, want), want, self.log())
            aggregator.end()
            self.copy_store("store.db", "whole.db")
            # Nothing of it; then all of it again, which asks for nothing.
            for older, again in (("nothing.db", len(self.files)), ("whole.db", 0)):
                self.copy_store(older, "store.db")
                aggregator = Aggregator(self.path("store.db"), aggregator.address)
                self.assertEqual(self.await_report(aggregator, want), want, self.log())
                self.assertEqual(self.log().count("the aggregator has lost what it gave"), again, self.log())
                aggregator.end()
                open(self.path("agent.log"), "w", encoding="utf-8").close()
            # A file that is gone by then is told, once.
            os.remove(self.files[0])
            for times in (1, 2):
                self.copy_store("nothing.db", "store.db")
                aggregator = Aggregator(self.path("store.db"), aggregator.address)
                self.await_log("is condensed again: the aggregator has lost what it gave", times * (len(self.files) - 1))
                self.await_log(" in the spool, ", times * (len(self.files) - 1))
                self.await_ranks(aggregator, len(self.files) - 1)
                self.assertEqual(self.log().count("rank0.json.gz is lost (the aggregator has lost"), 1, self.log())
                aggregator.end()
        finally:
            agent.kill()
            agent.wait()

    def await_ranks(self, aggregator, count):
        deadline = time.time() + 60
        ranks = []
        while len(ranks) != count and time.time() < deadline:
            time.sleep(0.2)
            done = run("lockstep", "show", "r", "--aggregator", aggregator.address, "--view", "ranks", "--format", "json")
            ranks = json.loads(done.stdout)["ranks"] if done.returncode == 0 else []
        self.assertEqual(len(ranks), count, self.log())

    def await_report(self, aggregator, want):
        deadline = time.time() + 60
        got = None
        while got != want and time.time() < deadline:
            time.sleep(0.2)
            done = run("lockstep", "show", "r", "--aggregator", aggregator.address, "--view", "all", "--instances=all",
                       "--format", "json")
            got = done.stdout
        return got

    def await_log(self, text, count):
        deadline = time.time() + 120
        while self.log().count(text) < count and time.time() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.log().count(text), count, self.log())

    def test_what_an_agent_took_is_sent_by_the_next_one_without_the_files(self):
        want = self.undisturbed()
        open(self.path("agent.log"), "w", encoding="utf-8").close()
        agent = self.agent("127.0.0.1:1", "--spool", self.path("spool"), "--watch", self.traces, "--pattern", "*.json.gz",
                           "--drain-timeout", "0")
        self.await_log(" in the spool, ", len(self.files))
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(agent.wait(60), 0, self.log())
        self.assertIn("stay in the spool", self.log())
        for file in self.files[1:]:
            os.remove(file)
        aggregator = Aggregator(self.path("store.db"))
        agent = self.agent(aggregator.address, "--spool", self.path("spool"), self.files[0])
        self.assertEqual(agent.wait(60), 0, self.log())
        self.assertEqual(self.show(aggregator), want, self.log())
        aggregator.end()

    def test_watched_files_are_taken_once_they_are_in_place_and_only_once(self):
        aggregator = Aggregator(self.path("store.db"))
        folder = self.path("watched")
        os.mkdir(folder)
        watching = ["--spool", self.path("spool"), "--watch", folder, "--pattern", "*.json.gz"]
        agent = self.agent(aggregator.address, *watching)
        for _ in range(100):
            if os.path.exists(self.path("spool", "ledger")):
                break
            time.sleep(0.05)
        for name in self.files[:3]:
            os.rename(name, os.path.join(folder, os.path.basename(name)))
        with open(os.path.join(folder, "notes.txt"), "w", encoding="utf-8") as file:
            file.write("not a trace")
        self.await_log(" in the spool, ", 3)
        # The same content once more, under its own name and another, is nothing new for the aggregator.
        first = os.path.join(folder, os.path.basename(self.files[0]))
        shutil.copy(first, os.path.join(folder, "copy.json.gz.part"))
        os.rename(os.path.join(folder, "copy.json.gz.part"), os.path.join(folder, "copy.json.gz"))
        self.await_log(" in the spool, ", 4)
        shutil.copy(first, self.path("same"))
        os.rename(self.path("same"), first)
        self.await_log(" in the spool, ", 5)
        time.sleep(0.5)
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(agent.wait(60), 0, self.log())
        self.assertIn("everything in the spool is delivered", self.log())
        again = self.agent(aggregator.address, *watching)
        time.sleep(6.5)  # longer than a file that is only seen has to be left alone
        again.send_signal(signal.SIGTERM)
        self.assertEqual(again.wait(60), 0)
        self.assertEqual(self.log().count(" in the spool, "), 5, self.log())
        self.assertNotIn("notes.txt", self.log())
        aggregator.end()

    def test_one_agent_a_spool(self):
        first = self.agent("127.0.0.1:1", "--spool", self.path("spool"), "--watch", self.traces)
        for _ in range(100):
            if os.path.exists(self.path("spool", "ledger")):
                break
            time.sleep(0.05)
        second = run("lockstep-agent", "--aggregator", "127.0.0.1:1", "--run", "r", "--spool", self.path("spool"), "--watch",
                     self.traces)
        self.assertEqual(second.returncode, 2)
        self.assertIn("another agent uses the spool", second.stderr)
        first.send_signal(signal.SIGTERM)
        first.send_signal(signal.SIGINT)
        self.assertIn(first.wait(10), (0, 130, 143))


if __name__ == "__main__":
    unittest.main()
