"""Carries out a schedule on a cluster: one method a kind of act, and what follows from it a moment later."""
import collections
import heapq
import itertools
import os
import random
import signal
import subprocess
import time

import damage
from programs import RUN, binary

# A program that ended by itself is started again, as a service manager does.
RESTART_S = 0.3
TICK_S = 0.02
RETRY_S = 0.2
# For a drain that is cut off by faults, on a machine with much else to do.
END_S = 20


class Stage:
    def __init__(self, cluster, feeder):
        self.cluster, self.feeder = cluster, feeder
        self.heap, self.order = [], itertools.count()
        self.done = collections.Counter()   # acts by kind
        self.kills = collections.Counter()  # of live programs, by name
        self.damages = []
        self.late_ends = []                 # programs that did not end after SIGTERM
        self.replays = []
        self.full = {}                      # disks that are full now
        self.began = time.monotonic()

    # --- time ---

    def later(self, seconds, work):
        heapq.heappush(self.heap, (time.monotonic() + seconds, next(self.order), work))

    def play(self, acts, tell):
        for act in acts:
            heapq.heappush(self.heap, (self.began + act["at"], next(self.order), lambda act=act: self.act(act)))
        watch_over = 0.0
        while self.heap:
            due, _, work = self.heap[0]
            now = time.monotonic()
            if due <= now:
                heapq.heappop(self.heap)
                work()
                tell(self)
            else:
                time.sleep(min(TICK_S, due - now))
            if now >= watch_over:
                watch_over = now + RESTART_S
                self.revive()

    def revive(self):
        """Whoever ended without being asked to, and is not away on purpose."""
        if not self.cluster.aggregator.lives() and not self.cluster.aggregator.away:
            self.cluster.start_aggregator()
        for host in self.cluster.hosts:
            if not host.agent.lives() and not host.agent.away:
                host.start()

    def act(self, act):
        if act["kind"] == "file":
            self.feeder.put(*act["file"], act["how"])
            return
        host = self.cluster.hosts[act["host"]]
        if any(not daemon.lives() for daemon in self._victims(act["kind"], host)):
            self.later(act["away_s"] + RETRY_S, lambda: self.act(act))  # nobody there to be killed
            return
        self.done[act["kind"]] += 1
        getattr(self, act["kind"])(act, host)

    def _victims(self, kind, host):
        return ([host.agent] if kind in ("kill_agent", "kill_both", "damage_spool") else []) + (
            [self.cluster.aggregator] if kind in ("kill_aggregator", "kill_both", "old_store") else [])

    # --- who is away and who comes back ---

    def _kill(self, daemon):
        if daemon.kill():
            self.kills[daemon.name] += 1

    def _start_agent_later(self, act, host):
        host.agent.away += 1
        self.later(act["away_s"], lambda: self._start_agent(act, host))

    def _start_agent(self, act, host):
        host.agent.away -= 1
        if not host.agent.away and not host.agent.lives():
            host.start(self.feeder.there[act["host"]] if act["use"] == "paths" else None)

    def _start_aggregator_later(self, act):
        self.cluster.aggregator.away += 1
        self.later(act["away_s"], self._start_aggregator)

    def _start_aggregator(self):
        self.cluster.aggregator.away -= 1
        if not self.cluster.aggregator.away and not self.cluster.aggregator.lives():
            self.cluster.start_aggregator()

    # --- kinds of acts ---

    def kill_agent(self, act, host):
        self._kill(host.agent)
        self._start_agent_later(act, host)

    def kill_aggregator(self, act, _host):
        self._kill(self.cluster.aggregator)
        self.cluster.keep_copy()
        self._start_aggregator_later(act)

    def kill_both(self, act, host):
        self.kill_aggregator(act, host)
        self.kill_agent(act, host)

    def damage_spool(self, act, host):
        """The network is silent first, so that something waits in the spool."""
        host.link.silence(act["silent_s"])

        def damaged():
            self._kill(host.agent)
            if os.path.isdir(host.spool):
                done = damage.damage(host.spool, act["what"], act["how"], random.Random(act["seed"]))
                self.damages.append(f"{host.name}: {done or 'nothing there'}")
            self._start_agent_later(act, host)
        self.later(act["silent_s"], damaged)

    def old_store(self, act, _host):
        self._kill(self.cluster.aggregator)
        self.cluster.keep_copy()
        if not self.full.get("store"):
            self.cluster.restore(self.cluster.copies[int(act["copy"] * len(self.cluster.copies))])
        self._start_aggregator_later(act)

    def end_agent(self, act, host):
        self._end(host.agent, act["signals"], lambda: self._start_agent_later(act, host))

    def end_aggregator(self, act, _host):
        self._end(self.cluster.aggregator, 1, lambda: self._start_aggregator_later(act))

    def _end(self, daemon, signals, start_later):
        """SIGTERM; who is not gone after its time is killed, and that is told."""
        if not daemon.lives():
            return
        daemon.process.send_signal(signal.SIGCONT)
        for _ in range(signals):
            daemon.process.send_signal(signal.SIGTERM)
        daemon.away += 1

        def ended(waited_s=0.0):
            if daemon.lives() and waited_s < END_S:
                self.later(0.1, lambda: ended(waited_s + 0.1))
                return
            if daemon.kill():
                self.late_ends.append(daemon.where)
            daemon.away -= 1
            start_later()
        ended()

    def pause(self, act, host):
        daemon = host.agent if act["of"] == "agent" else self.cluster.aggregator
        if daemon.lives():
            process = daemon.process
            process.send_signal(signal.SIGSTOP)
            self.later(act["for_s"], lambda: process.poll() is None and process.send_signal(signal.SIGCONT))

    def reset(self, _act, host):
        host.link.reset()

    def half_open(self, act, host):
        host.link.half_open(act["gone"], act["told_after_s"])

    def silence(self, act, host):
        host.link.silence(act["for_s"])

    def slow(self, act, host):
        host.link.slow(act["for_s"], act["bytes_per_s"])

    def refuse(self, act, host):
        host.link.refuse(act["for_s"])

    def fill_spool(self, act, host):
        self._fill(act, host.name, host.disk, host.agent)

    def fill_store(self, act, _host):
        self._fill(act, "store", self.cluster.disk, self.cluster.aggregator)

    def _fill(self, act, name, disk, daemon):
        disk.fill(act["free_bytes"], daemon.process)
        self.full[name] = self.full.get(name, 0) + 1

        def free():
            self.full[name] -= 1
            if not self.full[name]:
                disk.free(daemon.process)
        self.later(act["for_s"], free)

    def replay(self, act, host):
        files = self.feeder.there[act["host"]]
        if files:
            self._replay(host, act["seed"], files, "--stored-only")

    def _replay(self, host, seed, files, *more):
        self.replays.append(subprocess.Popen(
            [binary("lockstep-replay"), "--aggregator", self.cluster.address, "--run", RUN, "--host", host.name, "--seed",
             str(seed), *more, *files], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE))

    def only_replay(self, seed):
        """No agents: two clients a host deliver everything, each in a wild order of its own."""
        for number, host in enumerate(self.cluster.hosts):
            host.agent.away += 1
            for name in self.feeder.workload.files[number]:
                self.feeder.put(number, name, "moved")
            for client in range(2):
                self._replay(host, seed + client, self.feeder.there[number], "--timeout", "180")

    # --- the end of all faults ---

    def calm(self):
        """Everything works again and everybody is there, watching."""
        for link in self.cluster.links():
            link.heal()
        for host in self.cluster.hosts:
            host.disk.free(host.agent.process)
        self.cluster.disk.free(self.cluster.aggregator.process)
        self.feeder.finish()
        self.revive()

    def replay_complaints(self):
        """What the replaying clients found against the contract; they end by themselves."""
        complaints = []
        for process in self.replays:
            try:
                _, said = process.communicate(timeout=200)
            except subprocess.TimeoutExpired:
                process.kill()
                _, said = process.communicate()
                said += b"(did not end)"
            if process.returncode != 0:
                complaints.append(f"lockstep-replay: exit {process.returncode}: {said.decode()[-500:]}")
        return complaints
