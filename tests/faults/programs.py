"""The daemons as processes: started, killed, ended, with what they say kept in a log of each."""
import os
import random
import signal
import socket
import subprocess
import time

from disk import start_signals

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("LOCKSTEP_BIN", os.path.join(ROOT, "build", "release", "bin"))
RUN = "faults"


def binary(name):
    return os.path.join(BIN, name)


def free_port():
    """A port outside of those that outgoing connections get, so that it is ours again after a restart."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def run_to_end(name, *args, timeout=600):
    done = subprocess.run([binary(name), *map(str, args)], capture_output=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{name} {' '.join(map(str, args))}: exit {done.returncode}\n{done.stderr.decode()}")
    return done.stdout


def catches(pid, number):
    """Whether the process has a handler for the signal; False once it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            caught = next(line for line in file if line.startswith("SigCgt:"))
    except (OSError, StopIteration):
        return False
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


class Daemon:
    """One program that may be dead. Its exits that nobody asked for are kept as codes."""

    def __init__(self, name, where, log, disk):
        self.name, self.where, self.log, self.disk = name, where, log, disk
        self.away = 0  # reasons for which nobody may start it now
        self.process = None
        self.exits, self.last_words = [], []  # codes of all, what those said that failed

    def start(self, *args):
        with open(self.log, "ab") as log:
            log.write(f"--- {self.name} {' '.join(args)}\n".encode())
            log.flush()
            self.process = subprocess.Popen([binary(self.name), *args], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            **start_signals(self.disk))

    def lives(self):
        """False also takes note of an exit of its own."""
        if self.process is None:
            return False
        if self.process.poll() is None:
            return True
        self.exits.append(self.process.returncode)
        if self.process.returncode != 0:
            self.last_words.append(self.text().rstrip().rsplit("\n", 1)[-1])
        self.process = None
        return False

    def kill(self):
        """SIGKILL; whether there was something to kill."""
        if not self.lives():
            return False
        self.process.kill()
        self.process.wait()
        self.process = None
        return True

    def end(self, timeout_s):
        """In order; its exit code, or None when it had to be killed. Of one that has ended already, how it did."""
        self._await_handler(timeout_s)
        if not self.lives():
            return self.exits[-1] if self.exits else None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            self.kill()

    def _await_handler(self, timeout_s):
        """Before a program has begun, in its loader, nothing of it can catch SIGTERM and end in order."""
        deadline = time.monotonic() + timeout_s
        while self.lives() and not catches(self.process.pid, signal.SIGTERM) and time.monotonic() < deadline:
            time.sleep(0.002)

    def crashes(self):
        return [code for code in self.exits if code < 0 and code != -signal.SIGTERM]  # too early to be caught

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()


def await_port(address, timeout_s=60):
    host, port = address.rsplit(":", 1)
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        try:
            socket.create_connection((host, int(port)), 1).close()
            return True
        except OSError:
            time.sleep(0.02)
    return False
