"""The daemons' own figures over HTTP, while real agents stream."""
import os
import re
import subprocess
import time
import unittest
import urllib.error
import urllib.request

from loopback_test import Aggregator
from support import BIN, ROOT, TempDirTest, run, simulate


def get(address, path):
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=30) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def samples(text):
    """Series and values; every line must be of the Prometheus text format, every family have its HELP and TYPE first."""
    values, known = {}, set()
    for line in text.splitlines():
        if line.startswith("# "):
            kind, name = line.split(" ", 3)[1:3]
            assert kind in ("HELP", "TYPE"), line
            known.add(name) if kind == "TYPE" else None
            continue
        match = re.fullmatch(r'([a-z_]+)(\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})? ([0-9.e+-]+)', line)
        assert match, line
        assert match[1] in known or re.sub("_(bucket|sum|count)$", "", match[1]) in known, line
        values[match[1] + (match[2] or "")] = float(match[3])
    return values


class Metrics(TempDirTest):
    def setUp(self):
        super().setUp()
        self.traces = simulate(self.path("traces"), "--program", "decode", "--tp", 4, "--steps", 3, "--layers", 4)

    def test_what_agents_send_is_counted_on_both_sides(self):
        aggregator = Aggregator(self.path("store.db"), "--metrics", "127.0.0.1:0")
        figures = aggregator.process.stdout.readline().split()[-1]
        agent = subprocess.Popen([os.path.join(BIN, "lockstep-agent"), "--aggregator", aggregator.address, "--run", "secret-run", "--watch",
                                  self.traces, "--pattern", "*.json.gz", "--spool", self.path("spool"), "--metrics", "127.0.0.1:0"],
                                 cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for process in (aggregator.process, agent):
            self.addCleanup(process.communicate)
            self.addCleanup(process.kill)
        told = agent.stdout.readline().split()[-1]
        mine = {}
        end = time.monotonic() + 60
        while (mine.get('lockstep_agent_files_total{status="used"}'), mine.get("lockstep_agent_batches_acknowledged_total")) != (4, 4):
            self.assertIsNone(agent.poll())
            self.assertLess(time.monotonic(), end, mine)
            mine = samples(get(told, "/metrics")[1])
        self.assertEqual(get(told, "/readyz")[0], 200)
        theirs = samples(get(figures, "/metrics")[1])
        self.assertEqual(theirs["lockstep_aggregator_batches_total"], 4, "a batch for each rank")
        self.assertEqual(theirs['lockstep_aggregator_store_seconds_count{operation="put_batch"}'], theirs["lockstep_aggregator_batches_total"])
        self.assertEqual(theirs["lockstep_aggregator_streams"], 1)
        self.assertEqual(mine["lockstep_agent_connections_total"], 1)
        self.assertGreater(mine["lockstep_agent_spool_bytes"], 0)
        self.assertGreater(theirs["process_resident_memory_bytes"], 1 << 20)
        for address in (figures, told):
            text = get(address, "/metrics")[1]
            for secret in ("secret-run", "rank0", self.dir):
                self.assertNotIn(secret, text)
            self.assertEqual(get(address, "/healthz"), (200, "ok\n"))
            self.assertEqual(get(address, "/")[0], 404)
        self.assertEqual(get(figures, "/readyz"), (200, "ok\n"))
        aggregator.stop()
        while get(told, "/readyz")[0] != 503:
            self.assertIsNone(agent.poll())
            self.assertLess(time.monotonic(), end)

    def test_other_machines_cannot_reach_them_unless_that_is_accepted(self):
        for program, args in (("lockstep-aggregator", ["--store", self.path("s.db"), "--listen", "127.0.0.1:0"]),
                              ("lockstep-agent", ["--aggregator", "127.0.0.1:1", "--run", "r", self.traces])):
            done = run(program, *args, "--metrics", "0.0.0.0:0")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("--insecure", done.stderr)


if __name__ == "__main__":
    unittest.main()
