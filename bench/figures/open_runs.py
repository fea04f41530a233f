"""Runs that grow: watched while they run, and completed rank by rank."""
import os
import signal
import subprocess
import time

from figures.bench import less, row

LATE_RANK = 11
# A step in 0.92 s, as of a large model: 180 collectives a second and rank.
LIVE = ["--program", "train", "--layers", "32", "--model-scale", "4.3", "--tp", "8", "--cause", f"slow_gpu:rank={LATE_RANK},factor=1.1"]


class LiveRun:
    """A simulated run on its way into an aggregator of its own, at the pace of the wall."""

    def __init__(self, bench, ranks, steps):
        self.bench, store, hosts = bench, bench.path("live.db"), str(ranks // 8)
        if os.path.exists(store):
            os.remove(store)
        self.aggregator = subprocess.Popen([bench.binary("lockstep-aggregator"), "--listen", "127.0.0.1:0", "--store", store],
                                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = self.aggregator.stdout.readline().split()[-1]
        self.sender = subprocess.Popen([bench.binary("lockstep-simulate"), *LIVE, "--dp", hosts, "--hosts", hosts, "--gpus-per-host", "8",
                                        "--format", "nsys", "--steps", str(steps), "--seed", "1", "--stream-to", self.address, "--run",
                                        "live", "--pace", "1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def seconds(self):
        """As soon as the aggregator has a second of all ranks: its number, how many there are, and the collectives until then."""
        for number, line in enumerate(self.sender.stdout, 1):
            words = line.split()
            yield number, int(float(words[2])), int(words[-2])

    def aggregator_cpu_s(self):
        with open(f"/proc/{self.aggregator.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def answer(self):
        """The summary as of now; how long it took, of whose processor, and on how many collectives it stands."""
        begin, cpu = time.monotonic(), self.aggregator_cpu_s()
        done = self.bench.run("lockstep", "show", "live", "--aggregator", self.address, "--view", "summary,collectives", "--format", "json")
        took = {"latency_s": time.monotonic() - begin, "aggregator_cpu_s": self.aggregator_cpu_s() - cpu}
        report = done.json()
        took["contained"] = sum(each["instances"] * len(each["members"]) for each in report["collectives"])
        took["names_late_rank"] = [culprit["rank"] for culprit in report["summary"]["culprits"]][:1] == [LATE_RANK]
        return took

    def close(self):
        for process in (self.sender, self.aggregator):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.stdout.close()
            process.wait()


def live(bench):
    """From the moment when one more second of all ranks is durable to the summary that contains it, while the next ones arrive. Asked
    for twice: the first question makes the aggregator follow the run, so that the second one takes only what came since."""
    ranks, steps = (64, 10) if bench.quick else (512, 30)
    run, points = LiveRun(bench, ranks, steps), []
    try:
        for second, of, sent in run.seconds():
            if second in (of // 3, of - 1):
                points.append({"second": second, "sent": sent, **run.answer()})
                if points[-1]["contained"] < sent:
                    raise SystemExit(f"the answer stands on {points[-1]['contained']} collectives, {sent} were there")
    finally:
        run.close()
    last = points[-1]
    after = ", ".join(f"{p['latency_s']:.1f} s after {p['second']} s" for p in points)
    named = all(p["names_late_rank"] for p in points)
    return row(f"{last['latency_s']:.2f} s", last["latency_s"] / 2, "<= 2 s", last["latency_s"] <= 2 and named,
               f"{ranks} ranks, the late one {'named' if named else 'NOT NAMED'}: {after}", points,
               latency_s=less(last["latency_s"], "time"))


def last_rank(bench):
    """CPU time of `analyze --store` after the last rank's file came to a stored, analysed run, against that of all files from nothing.
    The files are those of eight_ranks (208 MB of JSON each), for 512 ranks: about 8 GB, made once."""
    ranks, steps = (64, 6) if bench.quick else (512, 58)
    hosts = str(ranks // 8)
    files = bench.simulate(f"last-{ranks}", "--program", "decode", "--tp", "8", "--dp", hosts, "--hosts", hosts, "--gpus-per-host", "8",
                           "--layers", "80", "--steps", str(steps), "--ids", "groups", "--stacks",
                           "--cause", "late_host:rank=3,us=300,p=0.02", "--clock", "offset_ms=5,drift_ppm=5")
    whole_store, grown = bench.path("last-whole.db"), bench.path("last-grown.db")
    for store in (whole_store, grown):
        for end in ("", "-wal", "-shm"):
            if os.path.exists(store + end):
                os.remove(store + end)

    def answer(of, store):
        return bench.run("lockstep", "analyze", *of, "--run", "last", "--store", store, "--format", "json")
    last = os.path.join(os.path.dirname(files[0]), f"rank{ranks - 1}.json.gz")
    time.sleep(3)  # analyze trusts no file to be unchanged that was written less than two seconds before
    answer([file for file in files if file != last], grown)
    added = answer(files, grown)
    whole = answer(files, whole_store)
    again = answer(files, whole_store)
    if not whole.json() == added.json() == again.json():
        raise SystemExit("the answer after the last rank was added is not that of the whole")
    os.remove(grown)
    os.remove(whole_store)
    share = added.cpu_s / whole.cpu_s
    return row(f"{share:.1%}", share / 0.05, "<= 5 %", share <= 0.05,
               f"{added.cpu_s:.1f} s of {whole.cpu_s:.1f} s CPU, {added.wall_s:.1f} of {whole.wall_s:.1f} s wall, {ranks} ranks; "
               f"nothing new: {again.cpu_s:.2f} s", {"whole": whole.figures(), "added": added.figures(), "again": again.figures()},
               share_of_whole=less(share, "ratio"))


FIGURES = {"live": live, "last_rank": last_rank}
