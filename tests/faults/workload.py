"""The traces of a simulated job, and how they come into the watched folders of its hosts."""
import os
import shutil
import threading
import time

from programs import run_to_end

PIECES = 5
PIECE_GAP_S = 0.15


class Workload:
    """Files by host: `files[host]` are names inside that host's watched folder."""

    def __init__(self, folder, size, seed):
        self.folder = folder
        self.hosts, self.ranks_a_host = size["hosts"], size["ranks_a_host"]
        world = self.hosts * self.ranks_a_host
        run_to_end("lockstep-simulate", "--program", "train", "--tp", self.ranks_a_host, "--dp", self.hosts, "--hosts",
                   self.hosts, "--gpus-per-host", self.ranks_a_host, "--layers", size["layers"], "--steps", size["steps"],
                   "--cause", "late_host:rank=1,us=80,p=0.4", "--seed", seed, "--format", "mixed", "--ids", "groups",
                   "--out", folder)
        self.files = [[] for _ in range(self.hosts)]
        for name in sorted(os.listdir(folder)):
            if name.startswith("rank"):
                first = int(name.removeprefix("rank").split(".")[0].split("-")[0])
                self.files[first // self.ranks_a_host].append(name)
        assert all(self.files), f"a host without traces: {self.files}"
        self.world = world

    def all_files(self):
        return [[host, name] for host, names in enumerate(self.files) for name in names]

    def source(self, name):
        return os.path.join(self.folder, name)


class Feeder:
    """Puts files into place as a profiler does; a file counts as there once nothing writes it any more."""

    def __init__(self, workload, folder_of):
        self.workload, self.folder_of = workload, folder_of
        self.there = [[] for _ in workload.files]
        self.writers = []

    def put(self, host, name, how):
        if how == "moved":
            self._move(host, name)
        else:
            writer = threading.Thread(target=self._write, args=(host, name))
            writer.start()
            self.writers.append(writer)

    def finish(self):
        for writer in self.writers:
            writer.join()

    def _move(self, host, name):
        target = os.path.join(self.folder_of(host), name)
        beside = os.path.join(os.path.dirname(self.folder_of(host)), name + ".part")
        shutil.copyfile(self.workload.source(name), beside)
        os.rename(beside, target)
        self.there[host].append(target)

    def _write(self, host, name):
        target = os.path.join(self.folder_of(host), name)
        with open(self.workload.source(name), "rb") as source:
            content = source.read()
        with open(target, "wb", buffering=0) as file:
            for piece in range(PIECES):
                file.write(content[len(content) * piece // PIECES:len(content) * (piece + 1) // PIECES])
                time.sleep(PIECE_GAP_S)
        self.there[host].append(target)
