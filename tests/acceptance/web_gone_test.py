"""Browsers that are closed in the middle, and readers that do not read, of a run that grows: their places are free again, the memory stays
bounded, and the pages of the others stay true."""
import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
import threading
import time
import unittest

from metrics_test import get, samples
from page_browser_test import CHROMIUM, WORK
from support import ROOT, run
from web_test import Events, WebTest

STREAMS = 200  # pages that may listen at a time
PAGE = b"GET /api/v1/runs/live/page HTTP/1.1\r\nHost: localhost\r\n\r\n"
EVENTS = b"GET /api/v1/runs/live/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
PATIENCE_S = 120


class Growing(WebTest):
    """An aggregator with pages, into which a run is streamed until the test ends it."""
    FLEET = tuple("600" if flag == "60" else flag for flag in WebTest.FLEET)  # steps: it lasts longer than any test

    def setUp(self):
        super().setUp()
        self.server = self.serve("--store", self.path("live.db"), "--metrics", "127.0.0.1:0", program="lockstep-aggregator")
        self.metrics = self.server.process.stdout.readline().split()[-1]
        self.sender = self.stream(self.server, "live", *self.FLEET, "--pace", "0.002", "--batch-seconds", "0.0014")
        self.addCleanup(self.sender.communicate)
        self.addCleanup(self.sender.kill)
        self.sender.stdout.readline()  # the first batch is there

    def figure(self, name):
        return samples(get(self.metrics, "/metrics")[1])[f"lockstep_aggregator_web_{name}"]

    def eventually(self, holds, what):
        end = time.monotonic() + PATIENCE_S
        while not holds():
            self.assertLess(time.monotonic(), end, what)
            self.assertIsNone(self.server.process.poll())
            time.sleep(0.05)

    def end_run(self):
        """The run as it is becomes the last word about it."""
        self.sender.kill()
        self.sender.wait()
        done = run("lockstep", "runs", "--aggregator", self.server.lines["listening"], "--finish", "live")
        self.assertEqual(done.returncode, 0, done.stderr)

    def check_the_pages_are_true(self):
        """A page that listens is told that the run is complete, and its data are what the command line says."""
        page = Events(self.server, "live")
        self.assertEqual(page.next()[1]["state"], "open")
        self.end_run()
        state = "open"
        while state == "open":
            state = page.next()[1]["state"]
        page.close()
        document = self.server.json("/api/v1/runs/live/page")
        shown = json.loads(run("lockstep", "show", "live", "--aggregator", self.server.lines["listening"], "--format", "json").stdout)
        self.assertEqual(document["report"]["summary"], shown["summary"])
        self.assertEqual(document["report"]["run"]["state"], shown["run"]["state"])

    def client(self, request, receive_bytes=None):
        client = socket.socket()
        self.addCleanup(client.close)
        if receive_bytes:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        client.settimeout(PATIENCE_S)
        client.connect((self.server.host, self.server.port))
        client.sendall(request)
        return client

    @staticmethod
    def vanish(client):
        """As the process of a browser does that is killed: what was sent to it is thrown away."""
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()


class Gone(Growing):
    def test_a_page_that_goes_in_the_middle_of_an_event_gives_its_place_back(self):
        for _ in range(2):  # all places, and all again
            pages = [self.client(EVENTS) for _ in range(STREAMS)]
            for page in pages:
                self.assertTrue(page.recv(12).endswith(b" 200"))
            refused = self.client(EVENTS)
            self.assertTrue(refused.recv(12).endswith(b" 503"))
            refused.close()
            for i, page in enumerate(pages):
                page.recv(400)  # somewhere in the header or the first event
                page.close() if i % 2 else self.vanish(page)
            self.eventually(lambda: self.figure("streams") == 0, "pages that are gone hold their places")
        self.eventually(lambda: self.figure("connections") == 0, "connections that are gone are held")
        self.check_the_pages_are_true()
        self.assertEqual(self.server.stop(), 0)

    def test_a_page_that_goes_in_the_middle_of_its_data_gives_them_back(self):
        before = self.server.rss_mb()
        size = len(self.server.ask("/api/v1/runs/live/page")[2])
        pages = 0
        while pages * size < 400e6:  # more than all of it together may take
            gone = [self.client(PAGE * 8, receive_bytes=4096) for _ in range(50)]
            for client in gone:
                self.assertTrue(client.recv(1000).startswith(b"HTTP/1.1 200"))
                self.vanish(client)
            pages += 8 * len(gone)
        self.eventually(lambda: self.figure("connections") == 0, "connections that are gone are held")
        self.assertLess(self.server.rss_mb() - before, 256 + 100)  # what answers may take, and the analyses
        self.check_the_pages_are_true()
        self.assertEqual(self.server.stop(), 0)

    def test_readers_that_never_read_are_cut_off_and_hold_up_nobody(self):
        silent = [self.client(PAGE * 100, receive_bytes=4096) for _ in range(60)]
        listeners = [self.client(EVENTS, receive_bytes=4096) for _ in range(60)]
        seen, page = [], Events(self.server, "live")

        def read_on():
            with contextlib.suppress(OSError):
                while event := page.next():
                    seen.append(event[1]["version"])
        reader = threading.Thread(target=read_on)
        reader.start()
        cut_off = 'refused_total{reason="slow_reader"}'
        self.eventually(lambda: self.figure(cut_off) >= len(silent), "readers that never read are not cut off")
        self.eventually(lambda: self.figure("connections") <= len(listeners) + 1, "readers that were cut off are held")
        read = len(seen)
        self.assertGreater(read, 3)
        self.assertEqual(len(set(seen)), len(seen), "an event told nothing new")
        self.eventually(lambda: len(seen) > read, "who reads is told no more")
        self.assertLess(self.server.rss_mb(), 600)
        page.socket.shutdown(socket.SHUT_RDWR)
        reader.join()
        page.close()
        for client in listeners:
            client.close()
        self.eventually(lambda: self.figure("streams") == 0, "pages that are gone hold their places")
        self.check_the_pages_are_true()
        self.assertEqual(self.server.stop(), 0)


@unittest.skipUnless(CHROMIUM, "SKIPPED LOUDLY: there is no browser (package chromium), so that no live page is looked at")
@unittest.skipUnless(os.path.isdir(os.path.join(WORK, "node_modules")), "SKIPPED LOUDLY: this build has no pages")
class InABrowser(Growing):
    def test_a_browser_that_is_killed_leaves_the_page_of_the_next_one_true(self):
        shutil.rmtree(os.path.join(WORK, "test"), ignore_errors=True)
        shutil.copytree(os.path.join(ROOT, "web", "test"), os.path.join(WORK, "test"))
        environment = {**os.environ, "CHROMIUM": CHROMIUM, "LOCKSTEP_LIVE": f"{self.server.lines['pages']}runs/live",
                       "LOCKSTEP_LIVE_SEEN": self.path("seen")}
        looking = subprocess.Popen(["node", "--test", os.path.join("test", "browser", "live.test.mjs")], cwd=WORK, env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(looking.kill)
        # Written when the first browser was killed and the second one shows the growing run.
        self.eventually(lambda: os.path.exists(self.path("seen")) or looking.poll() is not None, "no browser shows the run")
        if looking.poll() is None:
            self.eventually(lambda: self.figure("streams") == 1, "the page of the browser that was killed holds its place")
            self.end_run()
        output = looking.communicate(timeout=PATIENCE_S)[0]
        self.assertEqual(looking.returncode, 0, output[-6000:])
        self.assertNotIn("SKIP", output)
        self.assertEqual(self.server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
