"""Daemons that are started while their disk is full: they say so, wait, and go on when there is room."""
import os
import signal
import subprocess
import sys
import time
import unittest

from support import BIN, ROOT, TempDirTest, simulate

sys.path.insert(0, os.path.join(ROOT, "tests", "faults"))
import disk  # noqa: E402
from compare import progress_of  # noqa: E402


def await_that(what, seconds=60):
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.05)
    return what()


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


@unittest.skipUnless(os.environ.get(disk.INSIDE) == disk.TMPFS, "SKIPPED LOUDLY: no small disk can be mounted here")
class FullDisk(TempDirTest):
    def setUp(self):
        super().setUp()
        self.disk = disk.SmallDisk(self.path("disk"), 8)
        self.addCleanup(self.disk.remove)

    def start(self, name, *args):
        log = self.path(name + ".log")
        with open(log, "ab") as file:
            process = subprocess.Popen([os.path.join(BIN, name), *args], stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=ROOT)
        self.addCleanup(lambda: process.poll() is None and process.kill() or process.wait())
        return process, lambda: read(log)

    def end(self, process, text):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 0, text())

    def test_of_an_agent_that_watches_is_waited_for_and_what_is_in_the_spool_is_sent_meanwhile(self):
        traces = simulate(self.path("traces"), "--program", "decode", "--tp", 2, "--hosts", 1, "--gpus-per-host", 2, "--layers", 2,
                          "--steps", 2, "--format", "kineto")
        os.mkdir(self.path("watched"))
        agent = ["--aggregator", "127.0.0.1:1", "--run", "r", "--host", "none", "--spool", self.path("disk", "spool"), "--watch",
                 self.path("watched"), "--drain-timeout", "1"]
        self.disk.fill(0, None)
        process, text = self.start("lockstep-agent", *agent)
        self.assertTrue(await_that(lambda: "no traces are read until there is room" in text()), text())
        self.assertEqual(text().count("no traces are read"), 1)
        names = sorted(name for name in os.listdir(traces) if name.startswith("rank"))
        os.rename(os.path.join(traces, names[0]), self.path("watched", names[0]))
        self.disk.free(None)
        self.assertTrue(await_that(lambda: "in the spool, " in text()), text())
        self.end(process, text)
        self.assertIn("there is room again", text())
        # Started again on a disk that is full, with something to send: it is sent.
        self.disk.fill(0, None)
        aggregator, told = self.start("lockstep-aggregator", "--listen", "127.0.0.1:0", "--store", self.path("store.db"))
        self.assertTrue(await_that(lambda: "listening on" in told()), told())
        agent[1] = told().split("listening on ")[1].split()[0]
        process, text = self.start("lockstep-agent", *agent)
        self.assertTrue(await_that(lambda: progress_of(self.path("store.db"))[0] == 1), text())
        self.disk.free(None)
        self.end(process, text)
        self.assertIn("everything in the spool is delivered", text())
        self.end(aggregator, told)

    def test_of_a_store_is_said_to_be_full_and_waited_for(self):
        store = self.path("disk", "store.db")
        process, text = self.start("lockstep-aggregator", "--listen", "127.0.0.1:0", "--store", store)
        self.assertTrue(await_that(lambda: "listening on" in text()), text())
        process.kill()
        process.wait()
        waits = 0
        for left_bytes in (0, 4096, 16384):
            os.remove(store + "-shm")  # made anew, and 32 KiB: SQLite calls that an input/output error
            self.disk.fill(left_bytes, None)
            before, waited = text().count("listening on"), text().count("waiting for room")
            process, text = self.start("lockstep-aggregator", "--listen", "127.0.0.1:0", "--store", store)
            await_that(lambda: text().count("waiting for room") > waited or text().count("listening on") > before, 20)
            self.assertIsNone(process.poll(), text())
            self.assertNotIn("damaged", text())
            waits += text().count("waiting for room") - waited
            self.disk.free(None)
            self.assertTrue(await_that(lambda: text().count("listening on") > before), text())
            process.kill()
            process.wait()
        self.assertGreater(waits, 0, text())
        self.assertIn("no room", text())


if __name__ == "__main__":
    disk.enter()
    unittest.main()
