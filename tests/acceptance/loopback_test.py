"""An aggregator and agents as separate processes on loopback give the answer that analyze gives in one."""
import json
import os
import signal
import subprocess
import unittest

from support import BIN, ROOT, TempDirTest, run, simulate

PROGRAM = ["--program", "train", "--tp", 4, "--dp", 3, "--hosts", 3, "--gpus-per-host", 4, "--layers", 3, "--steps", 4,
           "--cause", "late_host:rank=5,us=80,p=0.4"]
VIEWS = ["--view", "all", "--instances=all", "--format", "json"]


class Aggregator:
    def __init__(self, store, *args):
        self.process = subprocess.Popen([os.path.join(BIN, "lockstep-aggregator"), "--listen", "127.0.0.1:0", "--store", store, *args],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
        self.address = self.process.stdout.readline().split()[-1]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        _, self.errors = self.process.communicate(timeout=60)
        return self.process.returncode


def without_paths(text):
    report = json.loads(text)
    for row in report.get("ranks", []):
        row["path"] = None
    if "quality" in report:
        report["quality"]["files"] = [row["status"] for row in report["quality"]["files"] if row["status"] != "skipped"]
    return report


class Loopback(TempDirTest):
    def setUp(self):
        super().setUp()
        self.traces = simulate(self.path("traces"), *PROGRAM)
        self.files = [f"{self.traces}/rank{rank}.json.gz" for rank in range(12)]
        self.want = without_paths(run("lockstep", "analyze", *self.files, "--run", "r", *VIEWS).stdout)

    def agent(self, aggregator, files, *args):
        return subprocess.Popen([os.path.join(BIN, "lockstep-agent"), "--aggregator", aggregator.address, "--run", "r",
                                 "--host", "none", *args, *files], cwd=ROOT, stderr=subprocess.PIPE, text=True)

    def show(self, aggregator):
        done = run("lockstep", "show", "r", "--aggregator", aggregator.address, *VIEWS)
        self.assertEqual(done.returncode, 0, done.stderr)
        return without_paths(done.stdout)

    def test_three_agents_at_once_in_any_order(self):
        for order in (1, -1):
            aggregator = Aggregator(self.path(f"store{order}.db"))
            agents = [self.agent(aggregator, self.files[host::3][::order], "--jobs", str(1 + host)) for host in range(3)]
            for agent in agents:
                _, errors = agent.communicate(timeout=120)
                self.assertEqual(agent.returncode, 0, errors)
            self.assertEqual(self.show(aggregator), self.want)
            self.assertEqual(aggregator.stop(), 0)

    def test_an_agent_that_is_killed_and_started_again_changes_nothing(self):
        aggregator = Aggregator(self.path("store.db"))
        killed = self.agent(aggregator, self.files)
        try:
            killed.communicate(timeout=0.2)
        except subprocess.TimeoutExpired:
            killed.kill()
            killed.communicate()
        for _ in range(2):
            agent = self.agent(aggregator, self.files)
            _, errors = agent.communicate(timeout=120)
            self.assertEqual(agent.returncode, 0, errors)
        self.assertEqual(self.show(aggregator), self.want)
        self.assertEqual(aggregator.stop(), 0)

    def test_a_restarted_aggregator_still_has_everything(self):
        aggregator = Aggregator(self.path("store.db"))
        agent = self.agent(aggregator, self.files)
        agent.communicate(timeout=120)
        self.assertEqual(aggregator.stop(), 0)
        aggregator = Aggregator(self.path("store.db"))
        self.assertEqual(self.show(aggregator), self.want)
        aggregator.stop()

    def test_nobody_there_is_exit_2(self):
        done = run("lockstep", "show", "r", "--aggregator", "127.0.0.1:1", timeout=90)
        self.assertEqual(done.returncode, 2)
        self.assertIn("127.0.0.1:1", done.stderr)


if __name__ == "__main__":
    unittest.main()
