"""A simulated run streamed into an aggregator, against the same run written to files and sent by an agent."""
import json
import os
import subprocess
import unittest

from loopback_test import Aggregator
from support import BIN, TempDirTest, run, simulate

# What is not about host calls, devices' names and versions, which only files tell.
VIEWS = ("collectives", "skew", "imbalance", "clock", "stragglers", "overlap")
FLAGS = ["--tp", "4", "--dp", "2", "--hosts", "2", "--gpus-per-host", "4", "--layers", "4", "--steps", "30", "--clock",
         "offset_ms=5,drift_ppm=10", "--cause", "late_host:rank=3,us=60,p=0.3", "--defect", "loss:p=0.005"]


def report(name, aggregator, *more):
    done = run("lockstep", "show", name, "--aggregator", aggregator.address, "--format", "json", "--view", ",".join(("ranks", *VIEWS)), *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class StreamedFleet(TempDirTest):
    def setUp(self):
        super().setUp()
        self.aggregator = Aggregator(self.path("store.db"))
        self.addCleanup(self.aggregator.stop)

    def stream(self, name, *flags):
        return run("lockstep-simulate", *flags, "--stream-to", self.aggregator.address, "--run", name)

    def test_equals_what_an_agent_sends_of_the_files(self):
        for form in ("kineto", "nsys"):
            with self.subTest(form):
                flags = [*FLAGS, "--format", form, "--seed", os.environ.get("LOCKSTEP_SEED", "7")]
                traces = simulate(self.path("traces-" + form), *flags)
                sent = run("lockstep-agent", "--aggregator", self.aggregator.address, "--run", "sent-" + form, "--finish", traces)
                self.assertEqual(sent.returncode, 0, sent.stderr)
                streamed = self.stream("streamed-" + form, *flags)
                self.assertEqual(streamed.returncode, 0, streamed.stderr)
                self.assertEqual(streamed.stdout, "")
                want, got = (report(which + form, self.aggregator, "--instances=all") for which in ("sent-", "streamed-"))
                for told in (got, want):
                    told["ranks"] = [[rank[key] for key in ("rank", "host", "kernels")] for rank in told["ranks"]]
                self.assertEqual(got["ranks"], want["ranks"])
                for view in VIEWS:
                    self.assertEqual(self.without_files(got[view]), self.without_files(want[view]), view)

    def test_sent_at_a_pace_equals_the_same_run_sent_at_once(self):
        """And what the aggregator has meanwhile is what was told."""
        for form in ("kineto", "nsys"):
            with self.subTest(form):
                flags = [*FLAGS, "--format", form, "--seed", os.environ.get("LOCKSTEP_SEED", "7")]
                self.assertEqual(self.stream("once-" + form, *flags).returncode, 0)
                paced = self.stream("paced-" + form, *flags, "--pace", "1e6", "--batch-seconds", "0.002")
                self.assertEqual(paced.returncode, 0, paced.stderr)
                lines = paced.stdout.splitlines()
                self.assertGreater(len(lines), 5)
                want, got = (report(which + form, self.aggregator, "--instances=all") for which in ("once-", "paced-"))
                for view in ("ranks", *VIEWS):
                    self.assertEqual(got[view], want[view], view)
                told = sum(rank["collectives"] for rank in got["ranks"])
                self.assertTrue(lines[-1].endswith(f", {told} collectives"), lines[-1])

    def test_sent_at_a_pace_is_told_as_it_comes(self):
        name = "live"
        command = [os.path.join(BIN, "lockstep-simulate"), *FLAGS, "--stream-to", self.aggregator.address, "--run", name, "--pace", "0.02",
                   "--batch-seconds", "0.005"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sender:
            for _ in range(3):
                told = int(sender.stdout.readline().split()[-2])
                rows = report(name, self.aggregator)["collectives"]
                self.assertGreaterEqual(sum(row["instances"] * len(row["members"]) for row in rows), told)
            rest = sender.stdout.read().splitlines()
        self.assertEqual(sender.returncode, 0)
        self.assertGreater(int(rest[-1].split()[-2]), told)

    def test_more_agents_than_a_connection_has_streams_are_all_sent_at_a_pace(self):
        """An aggregator allows 256 streams on a connection, and the agents of a paced run all live at once."""
        ranks = 264
        flags = ["--program", "decode", "--tp", "8", "--dp", str(ranks // 8), "--hosts", str(ranks // 8), "--gpus-per-host", "8",
                 "--layers", "1", "--steps", "2"]
        command = [os.path.join(BIN, "lockstep-simulate"), *flags, "--stream-to", self.aggregator.address, "--run", "wide", "--pace", "1e6"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240)  # or it would wait for ever
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(report("wide", self.aggregator)["ranks"]), ranks)

    def without_files(self, value):
        """Where a trace lay is no fact of the run."""
        if isinstance(value, dict):
            return {key: self.without_files(inner) for key, inner in value.items() if key not in ("path", "paths", "source_id")}
        return [self.without_files(inner) for inner in value] if isinstance(value, list) else value


if __name__ == "__main__":
    unittest.main()
