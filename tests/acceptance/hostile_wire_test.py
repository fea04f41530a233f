"""Strangers on the aggregator's port: bombs, floods and wrong messages, and every way of asking without being allowed to.

After each of them the same aggregator still serves those who may, knows nothing new, and has stayed within memory.
"""
import contextlib
import gzip
import json
import os
import socket
import ssl
import subprocess
import unittest
import zlib

import raw_wire as wire
from loopback_test import Aggregator
from support import TempDirTest, run, simulate

RUNS, VIEWS, STREAM = "/lockstep.v1.Query/Runs", "/lockstep.v1.Query/Views", "/lockstep.v1.Ingest/Stream"
ADMINISTER, HEALTH = "/lockstep.v1.Query/Administer", "/grpc.health.v1.Health/Check"
TOKENS = {"agent": "agent-token-1-4711", "reader": "reader-token-1-4711", "other": "reader-of-others-4711", "admin": "admin-token-1-4711"}
SECRET_RUN = "train-secret-merger"
MOST_GROWTH_KB = 96 * 1024  # of one process through all tests of a class
MIB = 1 << 20
OK, INVALID, EXHAUSTED, DENIED, UNIMPLEMENTED, UNAUTHENTICATED = 0, 3, 8, 7, 12, 16
SOURCE = b"\x11" * 16
HELLO = wire.message(wire.text(1, wire.number(1, 1) + wire.text(2, "train-hostile")))
CONTEXT = wire.message(wire.text(2, wire.text(1, wire.text(1, SOURCE) + wire.text(2, "p") + wire.text(3, "kineto"))))
DRAIN = wire.message(wire.text(6, b""))


def envelope(body, sequence=0, content_hash=None):
    fields = wire.text(1, SOURCE) + wire.number(2, wire.zigzag(sequence))
    return wire.message(wire.text(3, fields + wire.text(3, content_hash or wire.content_hash(body)) + wire.text(4, body)))


def columns(declared, zstd):
    return wire.number(1, declared) + wire.text(2, zstd)


def batch(field, declared, zstd):
    return envelope(wire.number(1, 3) + wire.number(2, 0) + wire.text(field, columns(declared, zstd)))


def sent(*messages):
    return HELLO + CONTEXT + b"".join(messages) + DRAIN


GZIP_BOMB, DEFLATE_BOMB = gzip.compress(bytes(256 * MIB), 9), zlib.compress(bytes(256 * MIB), 9)
# name -> (path, body, role, encoding, statuses that are right).
CALLS = {
    "gzip bomb without a token": (RUNS, wire.message(GZIP_BOMB, True), None, "gzip", [UNAUTHENTICATED]),
    "gzip bomb with a token": (RUNS, wire.message(GZIP_BOMB, True), "reader", "gzip", [UNIMPLEMENTED]),
    "deflate bomb without a token": (STREAM, wire.message(DEFLATE_BOMB, True), None, "deflate", [UNAUTHENTICATED]),
    "deflate bomb with a token": (STREAM, wire.message(DEFLATE_BOMB, True), "agent", "deflate", [UNIMPLEMENTED]),
    "an unknown compression": (RUNS, wire.message(b"x" * 1000, True), "reader", "br", [UNIMPLEMENTED, OK]),
    "compressed without saying how": (RUNS, wire.message(GZIP_BOMB, True), "reader", None, [UNIMPLEMENTED, 13]),
    "a message larger than allowed": (STREAM, wire.message(bytes(17 * MIB)), "agent", None, [INVALID]),
    "a message larger than allowed, without a token": (STREAM, wire.message(bytes(17 * MIB)), None, None, [UNAUTHENTICATED]),
    "noise in place of a message": (RUNS, wire.message(b"\xff" * 1000), "reader", None, [INVALID, 13]),
    "groups without end": (STREAM, wire.message(b"\x0b" * 100_000), "agent", None, [INVALID]),
    "an unknown method": ("/lockstep.v1.Query/Secrets", wire.message(b""), "admin", None, [UNIMPLEMENTED]),
    "reflection": ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", wire.message(wire.text(7, "*")), "admin", None, [UNIMPLEMENTED]),
    "a batch before the hello": (STREAM, envelope(b"x"), "agent", None, [INVALID, DENIED]),
    "two hellos": (STREAM, HELLO + HELLO, "agent", None, [INVALID]),
    "a batch before its source": (STREAM, HELLO + envelope(b"x"), "agent", None, [INVALID]),
    "a protocol of the future": (STREAM, wire.message(wire.text(1, wire.number(1, 9) + wire.text(2, "train-x"))), "agent", None, [INVALID]),
    "a run name with control characters": (STREAM, wire.message(wire.text(1, wire.number(1, 1) + wire.text(2, "train-\x1b[2J"))), "agent", None,
                                           [INVALID]),
    "a run name of a megabyte": (STREAM, wire.message(wire.text(1, wire.number(1, 1) + wire.text(2, "train-" + "x" * MIB))), "agent", None,
                                 [INVALID]),
    "a run name that is no UTF-8": (STREAM, wire.message(wire.text(1, wire.number(1, 1) + wire.text(2, b"train-\xff\xfe"))), "agent", None,
                                    [INVALID]),
    "a source without an id": (STREAM, HELLO + wire.message(wire.text(2, wire.text(1, wire.text(2, "p")))), "agent", None, [INVALID]),
    "an empty message": (STREAM, HELLO + wire.message(b""), "agent", None, [INVALID]),
}
# name -> (batch, word of the refusal): the source is refused, the stream goes on to its end.
BATCHES = {
    "a zstd bomb that declares its size": (batch(4, 1 << 30, wire.zstd_zeros(1 << 30)), b"1073741824"),
    "a zstd bomb that hides its size": (batch(4, 1000, wire.zstd_zeros(1 << 30)), b"undecodable"),
    "a zstd bomb of instances": (batch(6, 64 * MIB, wire.zstd_zeros(1 << 30)), b"undecodable"),
    "a zstd bomb of tables": (batch(8, 8 * MIB, wire.zstd_zeros(1 << 30)), b"undecodable"),
    "zstd that holds less than declared": (batch(7, 8 * MIB, wire.zstd_zeros(1000)), b"undecodable"),
    "zstd that is none": (batch(6, 1000, b"\xff" * 1000), b"undecodable"),
    "zstd with a window of 2 GiB": (batch(6, 1000, b"\x28\xb5\x2f\xfd\x00\xa8" + wire.zstd_zeros(1000)[6:]), b"undecodable"),
    "a negative sequence": (envelope(wire.number(1, 3) + wire.number(2, wire.zigzag(-1)), -1), None),
    "a body of another sequence": (envelope(wire.number(1, 3) + wire.number(2, wire.zigzag(5))), b"undecodable"),
    "a version of the future": (envelope(wire.number(1, 99) + wire.number(2, 0)), b"undecodable"),
    "a wrong hash": (envelope(wire.number(1, 3), content_hash=b"\0" * 16), b"damaged_batch"),
    "a communicator of 2^31 ranks": (envelope(wire.number(1, 3) + wire.number(2, 0) + wire.text(5, wire.number(1, 0) + wire.number(2, 1)
                                     + wire.text(3, wire.number(4, wire.zigzag((1 << 31) - 1))) + wire.number(1, (1 << 32) - 1))), None),
}


class Stranger(TempDirTest):
    """One aggregator with a run that nobody without a token may hear of."""

    @classmethod
    def setUpClass(cls):
        cls.folder = TempDirTest()
        TempDirTest.setUp(cls.folder)
        cls.addClassCleanup(cls.folder.doCleanups)
        path = cls.folder.path
        traces = simulate(path("traces"), "--program", "decode", "--tp", 2, "--hosts", 1, "--gpus-per-host", 2, "--layers", 2, "--steps", 2,
                          "--format", "kineto")
        done = run("lockstep", "analyze", traces, "--run", SECRET_RUN, "--store", path("store.db"))
        assert done.returncode == 0, done.stderr
        with open(path("tokens"), "w", encoding="utf-8") as file:
            file.write(f"agent {TOKENS['agent']} train-\nreader {TOKENS['reader']}\nreader {TOKENS['other']} train-secret-merger-2\n"
                       f"admin {TOKENS['admin']}\n")
        for name, token in TOKENS.items():
            with open(path(name), "w", encoding="utf-8") as file:
                file.write(token)
        for name in ("tokens", *TOKENS):
            os.chmod(path(name), 0o600)
        cls.start()
        cls.addClassCleanup(cls.aggregator.stop)
        cls.first_kb = cls.peak_kb()

    @classmethod
    def start(cls):
        cls.aggregator = Aggregator(cls.folder.path("store.db"), "--tokens", cls.folder.path("tokens"), "--log-level", "error")
        cls.served()

    @classmethod
    def client(cls):
        return []

    @classmethod
    def served(cls):
        """What the well-behaved reader sees."""
        done = run("lockstep", "runs", "--aggregator", cls.aggregator.address, *cls.client(), "--token-file", cls.folder.path("reader"),
                   "--format", "json")
        assert done.returncode == 0, done.stderr
        return {row["name"] for row in json.loads(done.stdout)["runs"]}

    @classmethod
    def peak_kb(cls):
        with open(f"/proc/{cls.aggregator.process.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))

    def check(self, connection=None):
        if connection is not None:
            self.assertNotIn(SECRET_RUN.encode(), connection.answer)
        self.assertIsNone(self.aggregator.process.poll(), "the aggregator is gone")
        self.assertIn(SECRET_RUN, self.served())
        self.assertLess(self.peak_kb() - self.first_kb, MOST_GROWTH_KB, "peak memory")


class Messages(Stranger):
    def test_that_are_wrong_get_their_status_and_harm_nobody(self):
        for name, (path, body, role, encoding, statuses) in CALLS.items():
            with self.subTest(name), wire.Connection(self.aggregator.address) as connection:
                connection.call(path, body, token=TOKENS.get(role), encoding=encoding)
                self.assertIn(connection.status(), statuses, connection.answer[-300:])
                self.check(None if role == "reader" and OK in statuses else connection)

    def test_batches_that_are_wrong_are_refused_alone(self):
        for name, (body, word) in BATCHES.items():
            with self.subTest(name), wire.Connection(self.aggregator.address) as connection:
                connection.call(STREAM, sent(body), token=TOKENS["agent"])
                if word is not None:
                    self.assertEqual(connection.status(), OK, connection.answer[-300:])
                    self.assertIn(word, connection.answer)
                else:
                    self.assertIsNotNone(connection.status())
                self.check(connection)
        self.assertEqual(self.served() - {SECRET_RUN}, {"train-hostile"})

    def test_sources_without_end_are_bounded(self):
        with wire.Connection(self.aggregator.address) as connection:
            sources = b"".join(wire.message(wire.text(2, wire.text(1, wire.text(1, i.to_bytes(16, "big")) + wire.text(2, "p") + wire.text(3, "kineto"))))
                               for i in range(1, 3000))
            connection.call(STREAM, HELLO + sources, token=TOKENS["agent"])
            self.check(connection)


class Frames(Stranger):
    def flood(self, make, times):
        with wire.Connection(self.aggregator.address) as connection:
            for i in range(times):
                if not connection.send(make(i)):
                    break
            connection.read(quiet=0.5)
            self.check(connection)

    def test_in_floods_are_cut_off_or_borne(self):
        def reset_of(headers):
            return lambda i: (wire.frame(wire.HEADERS, wire.END_HEADERS, 2 * i + 1, headers)
                              + wire.frame(wire.RST_STREAM, 0, 2 * i + 1, b"\0\0\0\x08"))
        for name, make, times in (
                ("settings", lambda i: wire.frame(wire.SETTINGS, 0, 0, b"\0\4\0\0\xff\xff") * 100, 200),
                ("pings", lambda i: wire.frame(wire.PING, 0, 0, bytes(8)) * 100, 200),
                ("empty data", lambda i: wire.frame(wire.DATA, 0, 1) * 1000, 100),
                ("calls that are reset at once", reset_of(wire.request_headers(RUNS)), 5000),
                ("streams that are reset at once", reset_of(wire.request_headers(STREAM, token=TOKENS["agent"])), 2000),
                ("unknown frames", lambda i: wire.frame(0x77, 0xff, 0, bytes(16000)), 500),
                ("noise", lambda i: bytes(range(256)) * 64, 20)):
            with self.subTest(name):
                self.flood(make, times)

    def test_pings_over_many_connections_cost_no_memory(self):
        with contextlib.ExitStack() as closing:
            for _ in range(20):
                connection = closing.enter_context(wire.Connection(self.aggregator.address))
                for _ in range(200):
                    if not connection.send(wire.frame(wire.PING, 0, 0, bytes(8)) * 100):
                        break
            self.check(connection)

    def test_headers_without_end_are_cut_off(self):
        big = wire.header("x-long", "y" * 15_000)
        with self.subTest("a header of 15 kB, 1000 times over"), wire.Connection(self.aggregator.address) as connection:
            connection.send(wire.frame(wire.HEADERS, 0, 1, wire.request_headers(RUNS)))
            for _ in range(1000):
                if not connection.send(wire.frame(wire.CONTINUATION, 0, 1, big)):
                    break
            connection.read(quiet=1)
            self.check(connection)
        # One header put into the table of the decoder, then named ten thousand times.
        stored = b"\x40" + wire.integer(1, 7) + b"x" + wire.integer(3000, 7) + b"y" * 3000
        with self.subTest("a header that is named again and again"), wire.Connection(self.aggregator.address) as connection:
            connection.send(wire.frame(wire.HEADERS, wire.END_HEADERS | wire.END_STREAM, 1, wire.request_headers(RUNS) + stored + b"\xbe" * 10_000))
            connection.read(quiet=0.5)
            self.assertNotEqual(connection.status(), OK)
            self.check(connection)
        # gRPC 1.51 keeps an unfinished block whole, about 90 bytes for each header: docs/security.md.
        with self.subTest("a hundred thousand short headers"), wire.Connection(self.aggregator.address) as connection:
            connection.send(wire.frame(wire.HEADERS, 0, 1, wire.request_headers(RUNS)))
            for _ in range(100):
                if not connection.send(wire.frame(wire.CONTINUATION, 0, 1, wire.header("a", "b") * 1000)):
                    break
            connection.read(quiet=1)
            self.check(connection)

    def test_that_never_come_keep_nobody_waiting(self):
        slow = []
        for i in range(300):
            connection = wire.Connection(self.aggregator.address, greet=False)
            self.addCleanup(connection.socket.close)
            connection.send([b"", wire.PREFACE[:10], wire.PREFACE, wire.PREFACE + b"\0\0"][i % 4])
            slow.append(connection)
        for connection in slow[:50]:
            connection.send(b"\0")
        self.check()


class Access(Stranger):
    """Certificates and tokens: who may not ask hears nothing, not even the name of a run."""

    @classmethod
    def start(cls):
        path = cls.folder.path

        def openssl(*args):
            subprocess.run(["openssl", *args], cwd=cls.folder.dir, check=True, capture_output=True)

        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        for name in ("ca", "stranger-ca"):
            openssl("req", "-x509", *key, "-keyout", name + ".key", "-out", name + ".crt", "-days", "2", "-subj", f"/CN={name}")
        for name, authority, days in (("agg", "ca", "2"), ("client", "ca", "2"), ("expired", "ca", "-1"), ("stranger", "stranger-ca", "2")):
            openssl("req", *key, "-keyout", name + ".key", "-out", name + ".csr", "-subj", f"/CN={name}")
            with open(path("san"), "w", encoding="utf-8") as file:
                file.write("subjectAltName=IP:127.0.0.1")
            openssl("x509", "-req", "-in", name + ".csr", "-CA", authority + ".crt", "-CAkey", authority + ".key", "-CAcreateserial", "-days", days,
                    "-extfile", "san", "-out", name + ".crt")
        cls.aggregator = Aggregator(path("store.db"), "--tokens", path("tokens"), "--log-level", "error", "--tls-cert", path("agg.crt"),
                                    "--tls-key", path("agg.key"), "--tls-client-ca", path("ca.crt"))
        cls.served()

    @classmethod
    def client(cls, name="client"):
        path = cls.folder.path
        return ["--tls-ca", path("ca.crt"), "--tls-cert", path(name + ".crt"), "--tls-key", path(name + ".key")]

    def context(self, name=None):
        context = ssl.create_default_context(cafile=self.folder.path("ca.crt"))
        context.set_alpn_protocols(["h2"])
        if name:
            context.load_cert_chain(self.folder.path(name + ".crt"), self.folder.path(name + ".key"))
        return context

    def test_without_an_own_certificate_of_the_authority_there_is_no_connection(self):
        for name in (None, "expired", "stranger"):
            with self.subTest(name):
                try:
                    with wire.Connection(self.aggregator.address, self.context(name)) as connection:
                        connection.call(RUNS, wire.message(b""), token=TOKENS["admin"])
                        self.assertIsNone(connection.status())
                        self.check(connection)
                except (ssl.SSLError, ConnectionError):
                    self.check()

    def test_plaintext_on_the_encrypted_port_gets_nothing(self):
        with wire.Connection(self.aggregator.address) as connection:
            connection.call(RUNS, wire.message(b""), token=TOKENS["admin"])
            self.assertIsNone(connection.status())
            self.check(connection)
        with socket.create_connection(tuple(self.aggregator.address.rsplit(":", 1))) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            plain.settimeout(2)
            try:
                self.assertNotIn(b"HTTP/1.1 200", plain.recv(4096))
            except OSError:
                pass
        self.check()

    def test_old_tls_is_refused(self):
        context = self.context("client")
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            with wire.Connection(self.aggregator.address, context) as connection:
                connection.call(RUNS, wire.message(b""), token=TOKENS["admin"])
                self.assertIsNone(connection.status())
                raise ConnectionError
        self.check()

    def test_without_a_right_token_no_call_is_answered(self):
        wrong = [None, "", "x", TOKENS["reader"][:-1], TOKENS["reader"] + "1", TOKENS["reader"].upper(), " " + TOKENS["reader"], "a" * 4000]
        for path in (RUNS, VIEWS, STREAM, ADMINISTER, HEALTH, "/nothing"):
            for token in wrong:
                with self.subTest(path=path, token=token), wire.Connection(self.aggregator.address, self.context("client")) as connection:
                    connection.call(path, wire.message(b""), token=token)
                    self.assertIn(connection.status(), (UNAUTHENTICATED, UNIMPLEMENTED))
                    self.assertNotIn(SECRET_RUN.encode(), connection.answer)
        self.check()

    def test_a_token_that_is_no_bearer_counts_nothing(self):
        for value in (TOKENS["reader"], "Basic " + TOKENS["reader"], "Bearer", f"Bearer {TOKENS['reader']} {TOKENS['admin']}"):
            with self.subTest(value), wire.Connection(self.aggregator.address, self.context("client")) as connection:
                connection.call(RUNS, wire.message(b""), more=wire.header("authorization", value))
                self.assertEqual(connection.status(), UNAUTHENTICATED)
                self.check(connection)

    def test_roles_and_prefixes_give_nothing_else_away(self):
        hello = wire.message(wire.text(1, wire.number(1, 1) + wire.text(2, SECRET_RUN)))
        other = wire.message(wire.text(1, wire.number(1, 1) + wire.text(2, "Train-x")))
        ask = wire.message(wire.text(1, SECRET_RUN) + wire.text(2, "all"))
        none = wire.message(wire.text(1, "train-secret-merge") + wire.text(2, "all"))
        answers = {}
        for name, path, body, role, statuses in (
                ("an agent lists", RUNS, wire.message(b""), "agent", [DENIED]), ("an agent asks", VIEWS, ask, "agent", [DENIED]),
                ("an agent prunes", ADMINISTER, wire.message(b""), "agent", [DENIED]), ("a reader sends", STREAM, hello, "reader", [DENIED]),
                ("a reader prunes", ADMINISTER, wire.message(wire.text(1, SECRET_RUN)), "reader", [DENIED]),
                ("an agent beyond its prefix", STREAM, other, "agent", [DENIED]),
                ("a reader of a longer prefix lists", RUNS, wire.message(b""), "other", [OK]),
                ("a reader of a longer prefix asks", VIEWS, ask, "other", [DENIED]),
                ("a reader of a longer prefix asks for what is not there", VIEWS, none, "other", [DENIED])):
            with self.subTest(name), wire.Connection(self.aggregator.address, self.context("client")) as connection:
                connection.call(path, body, token=TOKENS[role])
                self.assertIn(connection.status(), statuses, connection.answer[-300:])
                self.check(connection if path != VIEWS else None)
                answers[name] = connection.answer.replace(b"train-secret-merger", b"RUN").replace(b"train-secret-merge", b"RUN")
        # Whether a run exists cannot be told from the refusal.
        texts = [answer[answer.find(b"grpc-message"):][16:] for name, answer in answers.items() if "longer prefix asks" in name]
        self.assertEqual(texts[0].split(b"\0")[0][:60], texts[1].split(b"\0")[0][:60])


if __name__ == "__main__":
    unittest.main()
