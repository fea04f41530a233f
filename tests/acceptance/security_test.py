"""The programs with TLS and tokens, as an operator runs them: who gets in, what the logs tell, what pruning leaves."""
import json
import os
import subprocess
import unittest

from loopback_test import Aggregator
from support import TempDirTest, run, simulate

PROGRAM = ["--program", "decode", "--tp", 4, "--hosts", 1, "--gpus-per-host", 4, "--steps", 4, "--layers", 4, "--format", "kineto"]
TOKENS = {"agent": "agent-token-1-4711", "reader": "reader-token-1-4711", "admin": "admin-token-1-4711"}
KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


class Security(TempDirTest):
    def setUp(self):
        super().setUp()
        self.traces = simulate(self.path("traces"), *PROGRAM, "--seed", 7)
        self.tokens = self.write("tokens", "# who may what\n" + "".join(f"{role} {token}{' train-' if role == 'agent' else ''}\n"
                                                                        for role, token in TOKENS.items()))
        self.files = {role: self.write(role, token + "\n") for role, token in TOKENS.items()}
        self.openssl("req", "-x509", *KEY, "-keyout", "agg.key", "-out", "agg.crt", "-days", "2", "-subj", "/CN=agg",
                     "-addext", "subjectAltName=IP:127.0.0.1")
        self.tls = ["--tls-ca", self.path("agg.crt")]
        self.logs = ""

    def write(self, name, text, mode=0o600):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def openssl(self, *args):
        subprocess.run(["openssl", *args], cwd=self.dir, check=True, capture_output=True)

    def aggregator(self, *args):
        return Aggregator(self.path("store.db"), "--log-level", "debug", *args)

    def secure(self):
        return self.aggregator("--tls-cert", self.path("agg.crt"), "--tls-key", self.path("agg.key"), "--tokens", self.tokens)

    def call(self, program, *args, code=0):
        done = run(program, *args)
        self.assertEqual(done.returncode, code, f"{args}\n{done.stdout}{done.stderr}")
        self.logs += done.stdout + done.stderr
        return done

    def send(self, aggregator, name, role="agent", code=0):
        return self.call("lockstep-agent", "--aggregator", aggregator.address, "--run", name, "--log-level", "debug", *self.tls,
                         "--token-file", self.files[role], f"{self.traces}/rank0.json.gz", f"{self.traces}/rank1.json.gz", code=code)

    def runs(self, aggregator, role, *args, code=0):
        return self.call("lockstep", "runs", "--aggregator", aggregator.address, *self.tls, "--token-file", self.files[role],
                         *args, code=code)

    def test_each_role_gets_what_it_may_and_no_log_tells_a_token(self):
        aggregator = self.secure()
        self.send(aggregator, "train-1")
        self.assertIn("train-", self.send(aggregator, "other", code=2).stderr)
        self.send(aggregator, "train-1", role="reader", code=2)
        self.assertIn("train-1", self.runs(aggregator, "reader").stdout)
        self.assertNotIn("train-1", self.runs(aggregator, "agent", code=2).stdout)
        self.runs(aggregator, "reader", "--finish", "train-1", code=2)
        self.runs(aggregator, "admin", "--finish", "train-1")
        for flags in ([], self.tls, ["--token-file", self.files["admin"]]):
            done = self.call("lockstep", "runs", "--aggregator", aggregator.address, *flags, code=2)
            self.assertNotIn("train-1", done.stdout + done.stderr)
        self.assertEqual(aggregator.stop(), 0)
        for token in TOKENS.values():
            self.assertNotIn(token, self.logs + aggregator.errors)

    def test_nothing_listens_openly_unless_told_so(self):
        store = ["--store", self.path("other.db"), "--listen", "0.0.0.0:0"]
        cert = ["--tls-cert", self.path("agg.crt"), "--tls-key", self.path("agg.key")]
        self.assertIn("--insecure", self.call("lockstep-aggregator", *store, code=1).stderr)
        self.assertIn("--tokens", self.call("lockstep-aggregator", *store, *cert, code=1).stderr)
        self.assertIn("--tls-key", self.call("lockstep-aggregator", *store, *cert[:2], code=1).stderr)
        os.chmod(self.tokens, 0o644)
        self.assertIn("chmod 600", self.call("lockstep-aggregator", *store, *cert, "--tokens", self.tokens, code=2).stderr)

    def show(self, name):
        return self.call("lockstep", "show", name, "--store", self.path("store.db"), "--view", "all", "--instances=all",
                         "--format", "json").stdout

    def prune(self, *args):
        done = self.call("lockstep", "runs", *args, "--prune", "--format", "json")
        return [row["name"] for row in json.loads(done.stdout)["runs"] if row["removed"]]

    def test_pruning_takes_the_oldest_and_leaves_the_others_as_they_were(self):
        store = ["--store", self.path("store.db")]
        for name in ("one", "two", "three"):
            self.call("lockstep", "analyze", self.traces, "--run", name, *store)
        before = {name: self.show(name) for name in ("two", "three")}
        sizes = json.loads(self.call("lockstep", "runs", *store, "--prune", "--older-than", "7d", "--dry-run", "--format", "json").stdout)
        self.assertEqual([row["name"] for row in sizes["runs"]], ["one", "two", "three"])
        keep = str(sum(row["size_bytes"] for row in sizes["runs"]) - 1)
        self.assertEqual(self.prune(*store, "--keep-bytes", keep, "--dry-run"), ["one"])
        self.assertEqual(self.prune(*store, "--keep-bytes", keep), ["one"])
        self.assertEqual({name: self.show(name) for name in ("two", "three")}, before)
        aggregator = self.aggregator()
        self.assertEqual(self.prune("--aggregator", aggregator.address, "--older-than", "0s"), ["two", "three"])
        self.assertEqual(aggregator.stop(), 0)
        self.assertEqual(json.loads(self.call("lockstep", "runs", *store, "--format", "json").stdout)["runs"], [])
        self.call("lockstep", "runs", *store, "--prune", code=1)


if __name__ == "__main__":
    unittest.main()
