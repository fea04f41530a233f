"""`lockstep-aggregator --dump`: the same runs give the same bytes, however they arrived; also while they arrive."""
import os
import signal
import subprocess
import unittest

from loopback_test import Aggregator
from support import BIN, ROOT, TempDirTest, run, simulate

PROGRAM = ["--program", "train", "--tp", 2, "--dp", 3, "--hosts", 3, "--gpus-per-host", 2, "--layers", 3, "--steps", 4]


class Dump(TempDirTest):
    def setUp(self):
        super().setUp()
        traces = simulate(self.path("traces"), *PROGRAM)
        self.files = [f"{traces}/rank{rank}.json.gz" for rank in range(6)]

    def agent(self, aggregator, run_name, files, *args):
        return subprocess.Popen([os.path.join(BIN, "lockstep-agent"), "--aggregator", aggregator.address, "--run", run_name,
                                 "--host", "none", *args, *files], cwd=ROOT, stderr=subprocess.PIPE, text=True)

    def finish(self, *agents):
        for agent in agents:
            _, errors = agent.communicate(timeout=120)
            self.assertEqual(agent.returncode, 0, errors)

    def dump(self, store):
        done = run("lockstep-aggregator", "--dump", "--store", store)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_order_restarts_and_readers_change_no_byte(self):
        plain = Aggregator(self.path("plain.db"))
        for name in ("a", "b"):
            self.finish(self.agent(plain, name, self.files))
        self.assertEqual(plain.stop(), 0)
        want = self.dump(self.path("plain.db"))
        self.assertGreater(want.count("\n"), 1000)

        wild = Aggregator(self.path("wild.db"))
        self.finish(self.agent(wild, "b", self.files[3:], "--jobs", "2"))
        run("lockstep", "show", "b", "--aggregator", wild.address, "--view", "all")
        killed = self.agent(wild, "a", self.files[::-1])
        try:
            killed.communicate(timeout=0.1)
        except subprocess.TimeoutExpired:
            killed.kill()
            killed.communicate()
        wild.process.send_signal(signal.SIGKILL)
        wild.process.communicate()
        wild = Aggregator(self.path("wild.db"))
        self.finish(*[self.agent(wild, "a", self.files[part::3][::-1]) for part in range(3)], self.agent(wild, "b", self.files))
        self.assertEqual(self.dump(self.path("wild.db")), want, "of a store in use")
        self.assertEqual(wild.stop(), 0)
        self.assertEqual(self.dump(self.path("wild.db")), want)

        self.finish_run("b", self.path("wild.db"))
        self.assertNotEqual(self.dump(self.path("wild.db")), want, "a run finished by hand is another state")

    def finish_run(self, name, store):
        self.assertEqual(run("lockstep", "runs", "--store", store, "--finish", name).returncode, 0)

    def test_a_reader_that_has_seen_enough_ends_it_quietly(self):
        aggregator = Aggregator(self.path("store.db"))
        self.finish(self.agent(aggregator, "a", self.files))
        self.assertEqual(aggregator.stop(), 0)
        dump = subprocess.Popen([os.path.join(BIN, "lockstep-aggregator"), "--dump", "--store", self.path("store.db")],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(dump.stdout.readline().startswith(b"lockstep store"))
        dump.stdout.close()
        self.assertEqual(dump.stderr.read(), b"")
        dump.stderr.close()
        self.assertEqual(dump.wait(timeout=60), 0)

    def test_a_store_that_is_not_there_is_told(self):
        done = run("lockstep-aggregator", "--dump", "--store", self.path("no.db"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("no.db", done.stderr)
        self.assertFalse(os.path.exists(self.path("no.db")))


if __name__ == "__main__":
    unittest.main()
