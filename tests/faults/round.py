"""One round: a cluster under a schedule of faults, and whether it ends like one that nothing happened to."""
import json
import os
import shutil
import signal
import time

from acts import END_S, Stage
from cluster import Cluster
from compare import differences, progress_of, reached
from workload import Feeder

# For everything to be delivered after the last fault: keepalive alone may take 60 s to find a dead connection. All in
# all, and without any progress.
SETTLE_S = 300
STUCK_S = 90


class Wanted:
    """What an undisturbed run leaves."""

    def __init__(self, progress, report, dump):
        self.progress, self.report, self.dump = progress, report, dump


def _settle(stage, store, wanted):
    """Waits until as much is stored as is wanted, reviving who ends; whether it came to that."""
    deadline, last, moved = time.monotonic() + SETTLE_S, None, time.monotonic()
    while time.monotonic() < min(deadline, moved + STUCK_S):
        now = progress_of(store)
        if reached(now, wanted):
            return True
        if now != last:
            last, moved = now, time.monotonic()
        stage.revive()
        time.sleep(0.1)
    return False


def _end_in_order(cluster):
    """SIGTERM to all agents, and then to the aggregator; what was wrong about their ends."""
    problems = []
    for host in cluster.hosts:
        if host.agent.away:
            continue  # a round of other clients
        code = host.agent.end(30)
        # One with PATHs says so when it was ended before it had looked at all of them; what it had taken is delivered.
        allowed = (0,) if host.watches else (0, 128 + signal.SIGTERM)
        if code not in allowed:
            problems.append(f"{host.name}: the agent ended with {code} after SIGTERM, expected one of {allowed}")
        if host.undelivered():
            problems.append(f"{host.name}: in the spool are left {host.undelivered()}")
    return problems


def undisturbed(folder, workload, loop):
    cluster = Cluster(folder, workload.hosts, loop)
    try:
        feeder = Feeder(workload, lambda host: cluster.hosts[host].watched)
        for host, name in workload.all_files():
            feeder.put(host, name, "moved")
        cluster.start_aggregator()
        for number, host in enumerate(cluster.hosts):
            host.start(feeder.there[number])
        for host in cluster.hosts:
            code = host.agent.process.wait(SETTLE_S)
            if code != 0:
                raise RuntimeError(f"the undisturbed agent of {host.name} ended with {code}:\n{host.agent.text()}")
        report, progress = cluster.report(), progress_of(cluster.store)
        cluster.aggregator.end(30)
        return Wanted(progress, report, cluster.dump())
    finally:
        cluster.close()
        cluster.remove()


class Round:
    def __init__(self, folder, workload, wanted, loop, evidence):
        self.folder, self.workload, self.wanted, self.loop, self.evidence = folder, workload, wanted, loop, evidence

    def run(self, number, seed, acts, tell, clients="agents"):
        """The figures of the round; 'problems' is empty when nothing was lost or doubled.

        The clients are agents, or ("replay") two of those that say everything twice, backwards and with holes, a host.
        """
        cluster = Cluster(self.folder, self.workload.hosts, self.loop)
        feeder = Feeder(self.workload, lambda host: cluster.hosts[host].watched)
        stage = Stage(cluster, feeder)
        try:
            cluster.start_aggregator()
            if clients == "agents":
                for host in cluster.hosts:
                    host.start()
            else:
                stage.only_replay(seed)
            stage.play(acts, tell)
            result = self._judge(cluster, stage)
            result |= {"round": number, "clients": clients, "seed": seed, "schedule": acts}
            if result["problems"]:
                result["evidence"] = self._keep(cluster, number, result)
            return result
        finally:
            cluster.close()
            cluster.remove()

    def _judge(self, cluster, stage):
        stage.calm()
        calm_at = time.monotonic()
        problems = stage.replay_complaints()
        if not problems and not _settle(stage, cluster.store, self.wanted.progress):
            problems.append("not delivered after %.0f s: (sources, batches, notes) %s, expected %s" % (
                time.monotonic() - calm_at, progress_of(cluster.store), self.wanted.progress))
        settled_s = time.monotonic() - calm_at
        exits = {daemon.where: list(daemon.exits) for daemon in cluster.daemons()}
        words = [f"{daemon.where}: {said}" for daemon in cluster.daemons() for said in daemon.last_words]
        problems += _end_in_order(cluster)
        self.have, self.rows = {}, {"lost": None, "doubled": None}  # rows of the dump; None: there is no dump
        problems += self._compare("report.json", self.wanted.report, cluster.report)
        cluster.aggregator.end(30)
        problems += self._compare("dump", self.wanted.dump, cluster.dump)
        problems += [f"{where} did not end {END_S} s after SIGTERM" for where in stage.late_ends]
        problems += [f"{d.where} crashed: {d.crashes()}" for d in cluster.daemons() if d.crashes()]
        return {"kills": dict(stage.kills), "acts": dict(stage.done), "damages": stage.damages, "problems": problems,
                "rows": self.rows, "replays": len(stage.replays), "own_exits": exits, "last_words": words,
                "settle_s": round(settled_s, 2), "seconds": round(time.monotonic() - stage.began, 2)}

    def _compare(self, name, want, ask):
        try:
            have = ask()
        except RuntimeError as error:
            return [f"{name}: {error}"]
        self.have[name] = have
        found = differences(want, have)
        if name == "dump":
            self.rows = {what: found.get(what + "_lines", 0) for what in self.rows}
        return [f"{name} differs: {json.dumps(found)}"] if found else []

    def _keep(self, cluster, number, result):
        """Logs, stores, spools, schedule, and what was wanted and what came."""
        cluster.kill_all()
        folder = os.path.join(self.evidence, f"round{number}")
        shutil.copytree(cluster.folder, os.path.join(folder, "cluster"))
        for name, have in self.have.items():
            with open(os.path.join(folder, "have." + name), "wb") as file:
                file.write(have)
        for name, want in (("report.json", self.wanted.report), ("dump", self.wanted.dump)):
            with open(os.path.join(folder, "want." + name), "wb") as file:
                file.write(want)
        with open(os.path.join(folder, "round.json"), "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
        return folder
