"""What happens when in a round: a pure function of a seed. Times are seconds from the round's start."""
import random
import zlib

import damage

# How often a kind comes, and how many kills it asks for.
KINDS = {
    "kill_agent": (6.0, 1),        # SIGKILL, started again a moment later
    "kill_aggregator": (3.0, 1),
    "kill_both": (0.5, 2),
    "damage_spool": (1.5, 1),      # between a kill and the next start
    "old_store": (1.0, 1),         # the aggregator comes back with a store as it was earlier
    "end_agent": (0.7, 0),         # SIGTERM, sometimes twice
    "end_aggregator": (0.3, 0),
    "pause": (0.5, 0),             # SIGSTOP for a while: alive, and silent
    "reset": (1.0, 0),
    "half_open": (0.8, 0),
    "silence": (0.5, 0),
    "slow": (0.8, 0),
    "refuse": (0.4, 0),
    "fill_spool": (0.7, 0),
    "fill_store": (0.5, 0),
    "replay": (0.7, 0),            # a second client sends what is stored again, twice, backwards, with holes
}
# Every so many-th round has no agents: other clients deliver everything, out of order, while these happen.
REPLAY_ROUND = 8
REPLAY_ROUND_KINDS = {"kill_aggregator", "end_aggregator", "fill_store"}
MEAN_GAP_S = 0.35
# A connection whose other side vanished without a word: found out by keepalive only, after a minute.
NEVER_TOLD = 0.03


def _away_s(rng):
    """How long a killed program is away: mostly not long."""
    return round(rng.choice([0.0, rng.uniform(0, 0.3), rng.uniform(0, 1.5)]), 3)


def _act(kind, rng, hosts):
    act = {"kind": kind, "host": rng.randrange(hosts), "away_s": _away_s(rng)}
    if kind == "damage_spool":
        act |= {"what": rng.choice(damage.WHAT), "how": rng.choice(damage.HOW), "seed": rng.randrange(1 << 30),
                "silent_s": round(rng.uniform(0, 3), 3)}
    elif kind == "old_store":
        act |= {"copy": rng.random()}
    elif kind == "end_agent":
        act |= {"signals": rng.choice([1, 1, 2])}
    elif kind == "pause":
        act |= {"of": rng.choice(["agent", "aggregator"]), "for_s": round(rng.uniform(0.1, 2), 3)}
    elif kind == "half_open":
        told = None if rng.random() < NEVER_TOLD else round(rng.uniform(0.2, 3), 3)
        act |= {"gone": rng.choice(["agent", "aggregator"]), "told_after_s": told}
    elif kind in ("silence", "refuse"):
        act |= {"for_s": round(rng.uniform(0.1, 2.5), 3)}
    elif kind == "slow":
        act |= {"for_s": round(rng.uniform(0.5, 4), 3), "bytes_per_s": rng.choice([20_000, 100_000, 500_000])}
    elif kind in ("fill_spool", "fill_store"):
        act |= {"for_s": round(rng.uniform(0.2, 3), 3), "free_bytes": rng.choice([0, 0, 4096, rng.randrange(1 << 18)])}
    elif kind == "replay":
        act |= {"seed": rng.randrange(1 << 30)}
    act["use"] = rng.choice(["watch", "paths"])
    return act


def files_appear(rng, files, lasts_s):
    """When and how each file comes into its folder: moved into place, or written there slowly."""
    return [{"kind": "file", "at": round(rng.uniform(0, lasts_s * 0.8), 3), "file": file,
             "how": rng.choice(["moved", "moved", "written"])} for file in files]


def round_seed(seed, number):
    return zlib.crc32(f"{seed}/{number}".encode())


def make(seed, kinds, kills, hosts, files):
    """A list of acts in order of their time, with as many kills as asked for."""
    rng = random.Random(seed)
    acts, at, killed = [], 0.0, 0
    names = [kind for kind in KINDS if kind in kinds]
    while killed < kills:
        at += rng.expovariate(1 / MEAN_GAP_S)
        kind = rng.choices(names, [KINDS[name][0] for name in names])[0]
        acts.append({"at": round(at, 3)} | _act(kind, rng, hosts))
        killed += KINDS[kind][1]
    return sorted(acts + files_appear(rng, files, at), key=lambda act: act["at"])
