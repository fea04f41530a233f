"""Runs that grow: watched while they run, and completed rank by rank."""
import os
import shutil
import signal
import subprocess
import threading
import time

from figures.bench import ROOT, less, row

LATE_RANK = 11
# A step in 0.92 s, as of a large model: 180 collectives a second and rank.
LIVE = ["--program", "train", "--layers", "32", "--model-scale", "4.3", "--tp", "8", "--cause", f"slow_gpu:rank={LATE_RANK},factor=1.1"]

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
LIVE_PAGE_OPENS = 4  # seconds in which the browser starts and the aggregator begins to follow the run


class LiveRun:
    """A simulated run on its way into an aggregator of its own, at the pace of the wall."""

    def __init__(self, bench, ranks, steps, pages=False):
        self.bench, store, hosts = bench, bench.path("live.db"), str(ranks // 8)
        if os.path.exists(store):
            os.remove(store)
        self.aggregator = subprocess.Popen([bench.binary("lockstep-aggregator"), "--listen", "127.0.0.1:0", "--store", store,
                                            *(("--web", "127.0.0.1:0") if pages else ())],
                                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = self.aggregator.stdout.readline().split()[-1]
        self.pages = self.aggregator.stdout.readline().split()[-1] if pages else None
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


class OpenPage:
    """The live page of a run in Chromium, and when it drew what."""

    def __init__(self, bench, address):
        folder = os.path.join(bench.build, "web", "npm")
        shutil.copytree(os.path.join(ROOT, "web", "test"), os.path.join(folder, "test"), dirs_exist_ok=True)
        self.browser = subprocess.Popen(["node", "test/measure_live.mjs", address], cwd=folder, stdout=subprocess.PIPE, text=True)
        self.pictures = []  # (seconds since 1970, collectives)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.browser.stdout:
            at, collectives = line.split()
            self.pictures.append((int(at) / 1000, int(collectives)))

    def close(self):
        self.browser.send_signal(signal.SIGTERM)
        self.reader.join()
        self.browser.stdout.close()
        return self.browser.wait()


def live_page(bench):
    """The same run as `live`, on a page that a browser shows beside it: from the moment when one more second of all ranks is durable to
    the picture on the screen that contains it."""
    if not os.path.exists(CHROMIUM) or not os.path.isdir(os.path.join(bench.build, "web", "npm", "node_modules")):
        return None
    ranks, steps = (64, 12) if bench.quick else (512, 40)
    run, page, sent = LiveRun(bench, ranks, steps, pages=True), None, []
    try:
        for second, of, collectives in run.seconds():
            page = page or OpenPage(bench, run.pages + "runs/live")
            if second < of:  # the last one is followed by the end of the run
                sent.append((time.time(), collectives))
        run.sender.wait()
        time.sleep(5)
    finally:
        run.close()
        if page is not None and page.close() != 0:
            raise SystemExit("the browser failed")
    delays = []
    for at, collectives in sent[LIVE_PAGE_OPENS:]:
        drawn = [when for when, contained in page.pictures if contained >= collectives]
        if not drawn:
            raise SystemExit(f"no picture contains the {collectives} collectives that were there")
        delays.append(drawn[0] - at)
    middle, most = sorted(delays)[len(delays) // 2], max(delays)
    return row(f"{most:.2f} s", most / 3, "<= 3 s", most <= 3,
               f"{ranks} ranks, {len(delays)} batches: median {middle:.2f} s, {len(page.pictures)} pictures", {"delays": delays},
               latency_s=less(most, "time"))


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


FIGURES = {"live": live, "live_page": live_page, "last_rank": last_rank}
