"""The live pages and their API, over real sockets: `lockstep serve` and `lockstep-aggregator --web`, their good and their bad clients."""
import gzip
import http.client
import json
import os
import re
import resource
import signal
import socket
import ssl
import subprocess
import threading
import time
import unittest
import urllib.parse

from loopback_test import Aggregator
from metrics_test import get, samples
from page_test import Page
from support import BIN, ROOT, TempDirTest, run, simulate

LATE = ("--program", "decode", "--tp", "4", "--hosts", "1", "--gpus-per-host", "4", "--steps", "12", "--layers", "8", "--seed", "7",
        "--cause", "late_host:rank=2,us=60,p=0.3")
EVIL = "a/b <script>alert(1)</script> %2e \"'&"
TOKENS = {"reader": "reader-token-1-4711", "train": "train-token-1-47110", "agent": "agent-token-1-47110"}
KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
STRANGERS = int(os.environ.get("LOCKSTEP_CONNECTIONS", "10000"))


def quoted(name):
    return urllib.parse.quote(name, safe="")


class Server:
    """`lockstep serve` or an aggregator with pages, on a port that the system chooses."""

    def __init__(self, program, *args):
        self.process = subprocess.Popen([os.path.join(BIN, program), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, cwd=ROOT)
        self.lines = {}
        while "pages" not in self.lines:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(self.process.communicate()[1])
            what, _, address = line.strip().partition(" on ")
            self.lines[what] = address
        parts = urllib.parse.urlsplit(self.lines["pages"])
        self.host, self.port, self.tls = parts.hostname, parts.port, parts.scheme == "https"

    def connect(self, timeout=60):
        return socket.create_connection((self.host, self.port), timeout=timeout)

    def ask(self, path, method="GET", host=None, body=None, **headers):
        context = ssl._create_unverified_context() if self.tls else None
        connection = (http.client.HTTPSConnection(self.host, self.port, timeout=120, context=context) if self.tls
                      else http.client.HTTPConnection(self.host, self.port, timeout=120))
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", host or f"{self.host}:{self.port}")
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders(body)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, text

    def json(self, path, status=200, **headers):
        got, _, text = self.ask(path, **headers)
        assert got == status, f"{path}: {got} {text[:500]}"
        return json.loads(text)

    def raw(self, data, end=False):
        """What comes back for these bytes, until the server ends."""
        with self.connect(timeout=30) as client:
            try:
                client.sendall(data)
                if end:
                    client.shutdown(socket.SHUT_WR)
                answer = b""
                while True:
                    some = client.recv(65536)
                    if not some:
                        return answer
                    answer += some
            except (ConnectionResetError, BrokenPipeError):
                return answer

    def rss_mb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) / 1024

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.output, self.errors = self.process.communicate(timeout=60)
        return self.process.returncode


class Events:
    """One page that listens."""

    def __init__(self, server, run_name, headers=""):
        self.socket = server.connect()
        self.socket.sendall(f"GET /api/v1/runs/{quoted(run_name)}/events HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        while self.file.readline() not in (b"\r\n", b""):
            pass

    def next(self):
        """Name and data of the next event; None at the end."""
        name, data = None, None
        while True:
            line = self.file.readline().decode()
            if not line:
                return None
            if line.startswith("event: "):
                name = line[7:].strip()
            elif line.startswith("data: "):
                data = json.loads(line[6:])
            elif line == "\n" and name:
                return name, data

    def close(self):
        self.file.close()
        self.socket.close()


class WebTest(TempDirTest):
    FLEET = ("--tp", "4", "--dp", "2", "--hosts", "2", "--gpus-per-host", "4", "--layers", "4", "--steps", "60", "--cause",
             "late_host:rank=3,us=60,p=0.3")

    def stream(self, server, name, *flags):
        return subprocess.Popen([os.path.join(BIN, "lockstep-simulate"), *flags, "--stream-to", server.lines["listening"], "--run", name],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def serve(self, *args, program="lockstep"):
        server = Server(program, *(("serve",) if program == "lockstep" else ()), *args,
                        *(("--listen", "127.0.0.1:0") if program == "lockstep" else ("--listen", "127.0.0.1:0", "--web", "127.0.0.1:0")))
        self.addCleanup(server.process.communicate)
        self.addCleanup(server.process.kill)
        return server

    def store(self):
        traces = simulate(self.path("traces"), *LATE)
        for name in ("train-1", "train-2", EVIL):
            done = run("lockstep", "analyze", traces, "--store", self.path("runs.db"), "--run", name)
            self.assertEqual(done.returncode, 0, done.stderr)
        return self.path("runs.db")

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), 0o600)
        return self.path(name)


class Routes(WebTest):
    def test_every_route_gives_what_the_command_line_gives(self):
        store = self.store()
        server = self.serve("--store", store)
        runs = server.json("/api/v1/runs")["runs"]
        self.assertEqual({row["name"] for row in runs}, {"train-1", "train-2", EVIL})
        for row in runs:
            self.assertEqual(urllib.parse.unquote(row["path"]), row["name"])
        shown = run("lockstep", "show", "train-1", "--store", store, "--format", "json", "--view", "summary,ranks").stdout
        self.assertEqual(server.ask("/api/v1/runs/train-1/report?view=summary,ranks")[2].decode(), shown)
        page = server.json(f"/api/v1/runs/{quoted(EVIL)}/page")
        self.assertEqual((page["schema"], page["kind"], page["title"]), ("lockstep.page/1", "report", EVIL))
        self.assertTrue(page["headline"][0].startswith("Rank 2 makes the others wait"), page["headline"])
        compared = server.json("/api/v1/compare?base=train-1&new=train-2")
        self.assertEqual(compared["kind"], "comparison")
        printed = json.loads(run("lockstep", "compare", "train-1", "train-2", "--store", store, "--format", "json").stdout)
        self.assertEqual(compared["comparison"]["ledger"], printed["ledger"])
        self.assertEqual(compared["comparison"]["headline"], printed["headline"])
        history = server.ask("/api/v1/history?metric=exposed_wait")[2].decode()
        self.assertEqual(json.loads(history), json.loads(run("lockstep", "history", "--store", store, "--metric", "exposed_wait",
                                                             "--format", "json").stdout))
        with open(os.path.join(ROOT, "docs", "openapi.json"), encoding="utf-8") as file:
            self.assertEqual(server.ask("/api/v1/openapi.json")[2].decode(), file.read())
        self.assertEqual(server.stop(), 0)

    def test_the_data_are_those_of_the_file(self):
        store = self.store()
        html = self.path("page.html")
        done = run("lockstep", "show", "train-1", "--store", store, "--format", "html", "--output", html)
        if "built without pages" in done.stderr:
            self.skipTest("SKIPPED LOUDLY: this build has no pages, because node or npm is missing")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(html, encoding="utf-8") as file:
            page = Page(file.read())
        server = self.serve("--store", store)
        self.assertEqual(json.loads(server.ask("/api/v1/runs/train-1/page")[2]), page.document)

    def test_the_description_fits_what_is_served(self):
        description = json.loads(run("lockstep", "schema", "--openapi").stdout)
        self.assertEqual(description["openapi"], "3.1.0")
        server = self.serve("--store", self.store())
        for path, item in description["paths"].items():
            self.assertEqual(list(item), ["get"], path)
            if path.endswith("/events"):
                continue
            target = path.replace("{name}", "train-1") + ("?base=train-1&new=train-2" if path.endswith("compare") else "")
            status, headers, _ = server.ask(target)
            self.assertIn(str(status), item["get"]["responses"], path)
            if status == 200:
                self.assertIn(headers["content-type"], item["get"]["responses"]["200"]["content"], path)
        try:
            import jsonschema
        except ImportError:
            return
        whole = {"components": description["components"], "$ref": "#/components/schemas/Runs"}
        jsonschema.Draft202012Validator(whole).validate(server.json("/api/v1/runs"))
        whole["$ref"] = "#/components/schemas/Page"
        jsonschema.Draft202012Validator(whole).validate(server.json("/api/v1/runs/train-1/page"))
        whole["$ref"] = "#/components/schemas/Error"
        jsonschema.Draft202012Validator(whole).validate(server.json("/api/v1/runs/none/page", status=404))

    def test_traces_on_disk_are_served_without_a_store(self):
        one = simulate(self.path("monday"), *LATE)
        two = simulate(self.path("tuesday"), *LATE[:-2])
        server = self.serve(one, two)
        names = [row["name"] for row in server.json("/api/v1/runs")["runs"]]
        self.assertEqual(sorted(names), ["monday", "tuesday"])
        self.assertEqual(server.json("/api/v1/compare?base=monday&new=tuesday")["kind"], "comparison")
        self.assertEqual(server.stop(), 0)

    def test_another_aggregator_is_served_as_it_is(self):
        aggregator = Aggregator(self.path("a.db"))
        self.addCleanup(aggregator.stop)
        traces = simulate(self.path("traces"), *LATE)
        sent = run("lockstep-agent", "--aggregator", aggregator.address, "--run", "sent", "--finish", traces)
        self.assertEqual(sent.returncode, 0, sent.stderr)
        server = self.serve("--aggregator", aggregator.address)
        self.assertEqual(server.json("/api/v1/runs/sent/page")["title"], "sent")
        self.assertGreater(int(server.json("/api/v1/runs")["runs"][0]["version"].split(".")[0]), 0)

    def test_answers_are_compressed_and_not_sent_twice(self):
        server = self.serve("--store", self.store())
        path = "/api/v1/runs/train-1/page"
        _, plain_headers, plain = server.ask(path)
        status, headers, packed = server.ask(path, Accept_Encoding="gzip, deflate, br")
        self.assertEqual((status, headers["content-encoding"]), (200, "gzip"))
        self.assertEqual(gzip.decompress(packed), plain)
        self.assertLess(len(packed), len(plain) / 3)
        status, headers, nothing = server.ask(path, If_None_Match=plain_headers["etag"])
        self.assertEqual((status, nothing), (304, b""))
        status, headers, nothing = server.ask(path, method="HEAD")
        self.assertEqual((status, nothing, int(headers["content-length"])), (200, b"", len(plain)))

    def test_wrong_usage_is_said_in_a_sentence(self):
        for args, word in ((("serve",), "--store"), (("serve", self.dir, "--store", "x"), "one of the three"),
                           (("serve", self.dir, "--listen", "nonsense"), "HOST:PORT"),
                           (("serve", "--store", "x", "--web-cert", "c"), "--web-key"),
                           (("serve", "--store", "x", "--listen", "0.0.0.0:0"), "--web-cert"),
                           (("serve", "--store", "x", "--listen", "0.0.0.0:0", "--web-cert", "c", "--web-key", "k"), "--tokens")):
            done = run("lockstep", *args)
            self.assertEqual(done.returncode, 1, args)
            self.assertIn(word, done.stderr)
            self.assertEqual(done.stdout, "")
        done = run("lockstep-aggregator", "--store", self.path("s.db"), "--listen", "127.0.0.1:0", "--web", "0.0.0.0:0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--web 0.0.0.0:0 can be reached by other machines", done.stderr)
        done = run("lockstep", "serve", "--store", self.path("nothing.db"))
        self.assertEqual(done.returncode, 2)


class Hostile(WebTest):
    def setUp(self):
        super().setUp()
        self.server = self.serve("--store", self.store(), "--metrics", "127.0.0.1:0", program="lockstep-aggregator")
        self.metrics = self.server.process.stdout.readline().split()[-1]

    def alive(self):
        self.assertEqual(self.server.ask("/api/v1/runs")[0], 200)
        self.assertIsNone(self.server.process.poll())

    def figures(self):
        return samples(get(self.metrics, "/metrics")[1])

    def test_wrong_hosts_methods_and_paths_get_nothing(self):
        for host in ("evil.example", "127.0.0.1.evil.example:80", "localhost@evil.example", "[::2]"):
            for path in ("/", "/api/v1/runs", "/runs/train-1"):
                status, _, text = self.server.ask(path, host=host)
                self.assertEqual(status, 421, host)
                self.assertNotIn(b"train", text)
        for host in ("localhost", "LOCALHOST:9", "127.0.0.1", "[::1]:7780"):
            self.assertEqual(self.server.ask("/api/v1/runs", host=host)[0], 200)
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"):
            self.assertIn(self.server.ask("/api/v1/runs", method=method)[0], (400, 405), method)
        for path in ("/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/runs/%2e%2e/%2e%2e/etc/passwd", "/assets/..%2f..%2fetc%2fpasswd",
                     "/%00", "/api/v1/runs/%00/page", "/api/v1/runs/%ff%fe/page", "/api/v1/runs/" + "a" * 4000 + "/page"):
            self.assertEqual(self.server.ask(path)[0], 404, path)
        for path in ("/%", "/%zz", "/a%2", "/?a=%g1"):
            self.assertEqual(self.server.ask(path)[0], 400, path)
        self.assertEqual(self.server.ask("/" + "a" * 5000)[0], 414)
        self.assertEqual(self.server.ask("/", X="y" * 9000)[0], 431)
        self.alive()
        self.assertGreater(self.figures()['lockstep_aggregator_web_refused_total{reason="malformed"}'], 5)

    def test_names_that_are_markup_stay_names(self):
        page = self.server.ask("/runs/" + quoted(EVIL))[2].decode()
        self.assertNotIn("<script>alert", page)
        if "lockstep-source" in page:
            self.assertIn(f'content="/api/v1/runs/{quoted(EVIL)}/page"', page)
        status, headers, text = self.server.ask("/api/v1/runs")
        self.assertEqual(headers["content-type"], "application/json")
        self.assertEqual(headers["x-content-type-options"], "nosniff")
        self.assertIn(EVIL, [row["name"] for row in json.loads(text)["runs"]])

    def test_every_answer_carries_the_policy(self):
        for path in ("/", "/api/v1/runs", "/nothing", "/%", "/assets/none.js", "/api/v1/openapi.json"):
            _, headers, _ = self.server.ask(path)
            self.assertIn("default-src 'none'", headers["content-security-policy"], path)
            self.assertIn("connect-src 'self'", headers["content-security-policy"], path)
            for name, value in (("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"),
                                ("cross-origin-opener-policy", "same-origin"), ("cross-origin-resource-policy", "same-origin")):
                self.assertEqual(headers[name], value, path)
            self.assertNotIn("access-control-allow-origin", headers)
            if path.startswith("/api/v1/runs"):
                self.assertEqual(headers["cache-control"], "no-store")
        self.assertIn(b"nosniff", self.server.raw(b"BREW / HTTP/1.1\r\n\r\n"))

    def test_garbage_after_and_instead_of_requests(self):
        good = b"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for garbage in (b"\x00" * 100, os.urandom(5000), b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"\r\n" * 50,
                        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", b"GET / HTTP/1.1\nHost: localhost\n\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
            answer = self.server.raw(good + garbage, end=True)
            self.assertTrue(answer.startswith(b"HTTP/1.1 200"), garbage[:40])
            self.server.raw(garbage, end=True)
        self.assertEqual(self.server.raw(good * 50, end=True).count(b"HTTP/1.1 200"), 50)
        self.alive()

    def test_ten_thousand_connections_leave_it_up_and_bounded(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20000), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        before = self.server.rss_mb()
        held, begin, answered = [], time.monotonic(), 0
        room = min(hard, 20000) - 500
        for i in range(STRANGERS):
            client = socket.socket()
            client.settimeout(30)
            client.connect((self.server.host, self.server.port))
            if i % 3 == 1:
                try:
                    client.sendall(b"GET / HTTP/1.1\r\nHost:")  # never ended
                except OSError:
                    pass  # cut off already
            held.append(client)
            if len(held) > room:
                held.pop(0).close()
            if i % 1000 == 999:
                answered += self.server.ask("/api/v1/runs")[0] == 200
                self.assertLessEqual(self.figures()["lockstep_aggregator_web_connections"], 256 + 64)
        seconds = time.monotonic() - begin
        self.assertEqual(answered, STRANGERS // 1000)
        grown = self.server.rss_mb() - before
        self.assertLess(grown, 60)
        print(f"{STRANGERS} connections in {seconds:.1f} s, {len(held)} held: memory grew by {grown:.1f} MB, "
              f"{answered} of {STRANGERS // 1000} requests answered between", flush=True)
        for client in held:
            client.close()
        self.alive()

    def test_a_slow_reader_and_one_that_goes_harm_nobody(self):
        request = b"GET /api/v1/runs/train-1/page HTTP/1.1\r\nHost: localhost\r\n\r\n"
        slow = [self.server.connect() for _ in range(40)]
        for client in slow:
            client.sendall(request * 20)  # and never read
        for _ in range(40):
            with self.server.connect() as gone:
                gone.sendall(request)
        begin = time.monotonic()
        for _ in range(20):
            self.alive()
        self.assertLess(time.monotonic() - begin, 20)
        self.assertLess(self.server.rss_mb(), 600)
        for client in slow:
            client.close()

    def test_a_browser_that_ended_its_side_still_gets_its_answer(self):
        answer = self.server.raw(b"GET /api/v1/runs/train-1/report HTTP/1.1\r\nHost: localhost\r\n\r\n", end=True)
        self.assertTrue(answer.startswith(b"HTTP/1.1 200"))
        self.assertIn(b"lockstep.report/1", answer)

    def test_it_ends_in_order_while_pages_listen(self):
        events = [Events(self.server, "train-1") for _ in range(20)]
        self.assertEqual({page.next()[0] for page in events}, {"run"})
        self.assertEqual(self.server.stop(), 0)
        self.assertEqual({page.next() for page in events}, {None})
        for page in events:
            page.close()


class Access(WebTest):
    def setUp(self):
        super().setUp()
        self.tokens = self.write("tokens", f"reader {TOKENS['reader']}\nreader {TOKENS['train']} train-\nagent {TOKENS['agent']}\n")
        subprocess.run(["openssl", "req", "-x509", *KEY, "-keyout", "k.pem", "-out", "c.pem", "-days", "2", "-subj", "/CN=pages",
                        "-addext", "subjectAltName=IP:127.0.0.1"], cwd=self.dir, check=True, capture_output=True)

    def bearer(self, who):
        return {"Authorization": f"Bearer {TOKENS.get(who, who)}"}

    def check_tokens(self, server):
        for path in ("/api/v1/runs", "/api/v1/runs/train-1/page", "/api/v1/runs/none/report", "/api/v1/runs/train-1/events",
                     "/api/v1/compare?base=train-1&new=train-2", "/api/v1/history"):
            for headers in ({}, self.bearer("a-token-that-is-wrong"), {"Authorization": TOKENS["reader"]}, {"Cookie": "lockstep=1"}):
                status, got, text = server.ask(path, **headers)
                self.assertEqual(status, 401, (path, headers))
                self.assertIn("Bearer", got["www-authenticate"])
                self.assertNotIn(b"train", text)
            self.assertEqual(server.ask(path, **self.bearer("agent"))[0], 403, path)
        self.assertEqual(len(server.json("/api/v1/runs", **self.bearer("reader"))["runs"]), 3)
        self.assertEqual([row["name"] for row in server.json("/api/v1/runs", **self.bearer("train"))["runs"]], ["train-1", "train-2"])
        hidden = [server.ask(f"/api/v1/runs/{name}/page", **self.bearer("train"))[::2] for name in (quoted(EVIL), "not-there")]
        self.assertEqual(hidden[0], hidden[1])
        self.assertEqual(hidden[0][0], 403)
        _, headers, _ = server.ask("/api/v1/login", **self.bearer("train"))
        cookie = headers["set-cookie"]
        for part in ("HttpOnly", "SameSite=Strict", "Path=/") + (("Secure", "__Host-") if server.tls else ()):
            self.assertIn(part, cookie)
        session = {"Cookie": cookie.split(";")[0]}
        self.assertEqual(server.ask("/api/v1/runs/train-1/page", **session)[0], 200)
        self.assertEqual(server.ask("/api/v1/runs/not-there/page", **session)[0], 403)
        self.write("tokens.next", f"reader {TOKENS['reader']}\n")
        os.rename(self.path("tokens.next"), self.tokens)
        self.assertEqual(server.ask("/api/v1/runs/train-1/page", **session)[0], 401)
        self.assertEqual(server.ask("/api/v1/runs", **self.bearer("reader"))[0], 200)

    def test_tokens_of_the_aggregator_hold_for_its_pages(self):
        server = self.serve("--store", self.store(), "--tokens", self.tokens, "--log-level", "debug", program="lockstep-aggregator")
        self.check_tokens(server)
        self.assertEqual(server.stop(), 0)
        for token in TOKENS.values():
            self.assertNotIn(token, server.output + server.errors)

    def test_tls_and_tokens_of_serve(self):
        server = self.serve("--store", self.store(), "--tokens", self.tokens, "--web-cert", self.path("c.pem"), "--web-key", self.path("k.pem"))
        self.assertTrue(server.tls)
        trusting = ssl.create_default_context(cafile=self.path("c.pem"))
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=trusting, timeout=60)
        connection.request("GET", "/api/v1/openapi.json")
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()
        self.check_tokens(server)
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.maximum_version = ssl.TLSVersion.TLSv1_1
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            old.wrap_socket(server.connect())
        self.assertNotIn(b"200 OK", server.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", end=True))
        for _ in range(50):
            server.raw(os.urandom(300), end=True)
        self.assertEqual(server.ask("/api/v1/runs", **self.bearer("reader"))[0], 200)

    def test_clients_without_a_certificate_get_no_further_than_the_handshake(self):
        server = self.serve("--store", self.store(), "--web-cert", self.path("c.pem"), "--web-key", self.path("k.pem"),
                            "--web-client-ca", self.path("c.pem"))
        with self.assertRaises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
            server.ask("/api/v1/runs")
        context = ssl.create_default_context(cafile=self.path("c.pem"))
        context.load_cert_chain(self.path("c.pem"), self.path("k.pem"))
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=60)
        connection.request("GET", "/api/v1/runs")
        self.assertEqual(connection.getresponse().status, 200)


class Live(WebTest):
    def test_a_growing_run_shows_up_by_events_within_three_seconds(self):
        server = self.serve("--store", self.path("live.db"), program="lockstep-aggregator")
        sender = self.stream(server, "live", *self.FLEET, "--pace", "0.02", "--batch-seconds", "0.005")
        self.addCleanup(sender.communicate)
        self.addCleanup(sender.kill)
        sender.stdout.readline()  # the first batch is there
        page = Events(server, "live")
        name, data = page.next()
        self.assertEqual((name, data["run"], data["state"]), ("run", "live", "open"))
        delays, shown = [], []
        for _ in range(4):
            sender.stdout.readline()
            sent = time.monotonic()
            event = page.next()
            self.assertIsNotNone(event)
            document = server.json("/api/v1/runs/live/page")
            delays.append(time.monotonic() - sent)
            shown.append(len(document["report"]["profile"]["steps"]) if isinstance(document["report"]["profile"]["steps"], list)
                         else document["report"]["profile"]["steps"]["@length"])
        self.assertEqual(shown, sorted(shown))
        self.assertLess(max(delays), 3)
        print(f"from a batch to the data of its page: {', '.join(f'{delay:.2f} s' for delay in delays)}", flush=True)

    def test_a_run_that_is_removed_is_said_to_be_gone(self):
        server = self.serve("--store", self.store(), program="lockstep-aggregator")
        page = Events(server, "train-1")
        self.assertEqual(page.next()[1]["state"], "complete")
        done = run("lockstep", "runs", "--aggregator", server.lines["listening"], "--prune", "--older-than", "0s")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(page.next()[0], "gone")
        self.assertEqual(Events(server, "never-there").next()[0], "gone")


if __name__ == "__main__":
    unittest.main()
