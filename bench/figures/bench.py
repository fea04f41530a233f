"""What the figures share: the programs under test, and inputs that are made once."""
import glob
import json
import os
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def less(value, kind):
    """A value that bench/compare compares: the less the better. Kinds: comparing.NOISE."""
    return {"value": value, "better": "less", "kind": kind}


def more(value, kind):
    return {"value": value, "better": "more", "kind": kind}


def row(figure, ratio, budget, held, limit="", raw=None, **compared):
    """Keywords are what bench/compare looks at, each by less() or more()."""
    return {"figure": figure, "limit": limit, "ratio": round(ratio, 3), "budget": budget, "held": held, "compared": compared, "raw": raw}


def machine():
    """What absolute times depend on, as far as the system tells it."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = {line.split(":", 1)[1].strip() for line in file if line.startswith("model name")}
    return f"{len(os.sched_getaffinity(0))} x {', '.join(sorted(models)) or os.uname().machine}"


def speed():
    """What tells machines of one processor apart (speed.py); measured in a process of its own, because the memory of this one would count
    as its children's."""
    return json.loads(subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "speed.py")], check=True,
                                     stdout=subprocess.PIPE, text=True).stdout)


class Bench:
    def __init__(self, build, quick, folder):
        self.build, self.quick, self.folder = build, quick, folder

    def binary(self, name):
        return os.path.join(self.build, "bin", name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def simulate(self, name, *flags):
        """The traces of a simulated job, made once; their paths."""
        out = self.path(name)
        if not os.path.isdir(out):
            print(f"making {name} ...", file=sys.stderr)
            subprocess.run([self.binary("lockstep-simulate"), *flags, "--seed", "1", "--out", out], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return sorted(glob.glob(os.path.join(out, "rank*")))

    def stored(self, name, *flags):
        """A store that holds a simulated run of that name, streamed as by its agents, made once."""
        store = self.path(name + ".db")
        if os.path.exists(store):
            return store
        print(f"making {name} ...", file=sys.stderr)
        self.stream(store + ".part", name, *flags)
        os.rename(store + ".part", store)
        return store

    def stream(self, store, name, *flags):
        """A simulated run of that name into a store, as by its agents; what it has already is not sent again."""
        aggregator = subprocess.Popen([self.binary("lockstep-aggregator"), "--listen", "127.0.0.1:0", "--store", store],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        address = aggregator.stdout.readline().split()[-1]
        subprocess.run([self.binary("lockstep-simulate"), *flags, "--seed", "1", "--stream-to", address, "--run", name], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        aggregator.send_signal(signal.SIGTERM)
        if aggregator.wait() != 0:
            raise SystemExit(f"the aggregator that stored {name} failed")

    def run(self, program, *arguments):
        """Output, wall and CPU seconds and peak MiB of one process."""
        begin = time.monotonic()
        with open(self.path("output"), "wb") as out:
            pid = os.posix_spawn(self.binary(program), [program, *arguments], os.environ,
                                 file_actions=[(os.POSIX_SPAWN_DUP2, out.fileno(), 1)])
        _, status, usage = os.wait4(pid, 0)
        wall = time.monotonic() - begin
        if status != 0:
            raise SystemExit(f"{program} {' '.join(arguments)}: wait status {status}")
        with open(self.path("output"), encoding="utf-8") as out:
            text = out.read()
        return Process(text, wall, usage)


class Process:
    def __init__(self, text, wall_s, usage):
        self.text, self.wall_s, self.cpu_s = text, wall_s, usage.ru_utime + usage.ru_stime
        self.peak_mib = usage.ru_maxrss / 1024

    def figures(self):
        return {"wall_s": self.wall_s, "cpu_s": self.cpu_s, "peak_mib": self.peak_mib}

    def json(self):
        return json.loads(self.text)


def median(processes):
    """That of the median wall time."""
    return sorted(processes, key=lambda process: process.wall_s)[len(processes) // 2]


def median_run(times, run):
    return median([run() for _ in range(times)])
