"""One aggregator and the agents of several hosts, each behind a network of its own, on small disks of their own."""
import os
import shutil

from disk import disk_at
from programs import RUN, Daemon, await_port, free_port, run_to_end
from proxy import Link

SPOOL_MB = 40
STORE_MB = 96
STORE_FILES = ("", "-wal", "-shm")


class Host:
    def __init__(self, folder, number, loop, target):
        self.name = f"node{number}"
        self.folder = os.path.join(folder, self.name)
        self.watched = os.path.join(self.folder, "traces")
        self.spool = os.path.join(self.folder, "disk", "spool")
        os.makedirs(self.watched)
        self.disk = disk_at(os.path.join(self.folder, "disk"), SPOOL_MB)
        self.watches = True
        self.link = Link(loop, target)
        self.agent = Daemon("lockstep-agent", self.name, os.path.join(self.folder, "agent.log"), self.disk)

    def start(self, paths=None):
        """Watching its folder, or for the files that are given."""
        self.watches = not paths
        what = ["--watch", self.watched, "--pattern", "rank*"] if not paths else list(paths)
        self.agent.start("--aggregator", self.link.address, "--run", RUN, "--host", self.name, "--spool", self.spool,
                         "--spool-bytes", "32M", "--jobs", "2", "--drain-timeout", "2", *what)

    def undelivered(self):
        """Names of segments that are left."""
        return sorted(name for name in os.listdir(self.spool) if name.endswith(".spool"))


class Cluster:
    """Lives in `folder`, which must not exist; the same path every time, because paths are part of what is stored."""

    def __init__(self, folder, hosts, loop):
        self.folder = folder
        os.makedirs(folder)
        self.address = f"127.0.0.1:{free_port()}"
        self.disk = disk_at(os.path.join(folder, "store"), STORE_MB)
        self.store = os.path.join(folder, "store", "runs.db")
        self.aggregator = Daemon("lockstep-aggregator", "aggregator", os.path.join(folder, "aggregator.log"), self.disk)
        self.hosts = [Host(folder, number, loop, self.address) for number in range(hosts)]
        self.copies = []

    def start_aggregator(self):
        self.aggregator.start("--listen", self.address, "--store", self.store, "--drain-timeout", "1")

    def daemons(self):
        return [self.aggregator] + [host.agent for host in self.hosts]

    def links(self):
        return [host.link for host in self.hosts]

    # --- the store, while nobody has it open ---

    def keep_copy(self):
        folder = os.path.join(self.folder, "copies", str(len(self.copies)))
        os.makedirs(folder)
        for ending in STORE_FILES:
            if os.path.exists(self.store + ending):
                shutil.copyfile(self.store + ending, os.path.join(folder, "runs.db" + ending))
        self.copies.append(folder)

    def restore(self, folder):
        for ending in STORE_FILES:
            if os.path.exists(self.store + ending):
                os.remove(self.store + ending)
            if os.path.exists(os.path.join(folder, "runs.db" + ending)):
                shutil.copyfile(os.path.join(folder, "runs.db" + ending), self.store + ending)

    # --- what it knows ---

    def report(self):
        """The JSON of all views."""
        if not await_port(self.address):
            raise RuntimeError(f"no aggregator at {self.address}")
        return run_to_end("lockstep", "show", RUN, "--aggregator", self.address, "--view", "all", "--format", "json")

    def dump(self):
        """The canonical dump; only while nobody has the store open."""
        return run_to_end("lockstep-aggregator", "--dump", "--store", self.store)

    # --- the end ---

    def kill_all(self):
        for daemon in self.daemons():
            daemon.kill()

    def close(self):
        self.kill_all()
        for link in self.links():
            link.close()

    def remove(self):
        for host in self.hosts:
            host.disk.remove()
        self.disk.remove()
        shutil.rmtree(self.folder)
