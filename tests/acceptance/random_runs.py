"""Simulated runs that nobody chose: shape, cause, clocks, noise, defects and form are drawn. Each is small, so that it takes a second."""
import random


def log(rng, low, high):
    """Small values as often as large ones."""
    return low * (high / low) ** rng.random()


def sizes(rng, program):
    while True:
        tp, pp, dp, ep = {
            "train": (rng.choice([1, 1, 2, 4]), rng.choice([1, 1, 2]), rng.choice([1, 2, 4, 8]), 1),
            "pipeline": (rng.choice([1, 2]), rng.choice([2, 4]), rng.choice([1, 2]), 1),
            "moe": (1, 1, rng.choice([4, 8]), rng.choice([2, 4])),
        }.get(program, (rng.choice([2, 4, 8]), 1, rng.choice([1, 1, 2]), 1))
        if 2 <= tp * pp * dp <= 16:
            return tp, pp, dp, ep


def cause(rng, ranks, hosts, pp, trains):
    ms = lambda low, high: log(rng, low, high) * (10 if trains else 1)
    rank = rng.randrange(ranks)
    kinds = [f"slow_gpu:rank={rank},factor={1 + log(rng, 0.001, 0.5):.4f}", f"slow_kernel:rank={rank},factor={1 + log(rng, 0.01, 1.5):.4f}",
             f"more_work:rank={rank},factor={1 + log(rng, 0.001, 0.5):.4f}",
             f"late_host:rank={rank},us={log(rng, 5, 300):.0f},p={rng.uniform(0.05, 0.5):.2f}",
             f"periodic_pause:rank={rank},every={rng.randint(2, 10)},ms={ms(0.2, 20):.2f}",
             f"data_stall:rank={rank},p={rng.uniform(0.02, 1):.2f},ms={ms(0.1, 10):.2f}", f"copy_contention:gbps={log(rng, 2, 25):.1f}",
             "host_bound:us=40", "slow_transfer:factor=8", "jitter:sigma=0.1", f"transient:rank={rank},from=5,to=9,factor=1.5"]
    if pp > 1:
        kinds.append(f"stage_imbalance:factor={1 + log(rng, 0.01, 0.5):.4f}")
    if hosts > 1:
        kinds.append(f"late_host:host={rng.randrange(hosts)},us={log(rng, 5, 300):.0f},p={rng.uniform(0.05, 0.5):.2f}")
    return rng.choice(kinds)


def draw(seed):
    """The arguments of lockstep-simulate."""
    rng = random.Random(seed)
    program = rng.choice(["train", "train", "moe", "pipeline", "decode", "decode", "prefill", "batching"])
    trains = program in ("train", "moe", "pipeline")
    tp, pp, dp, ep = sizes(rng, program)
    ranks = tp * pp * dp
    hosts = rng.choice([n for n in (1, 2, 4) if ranks % n == 0 and ranks // n >= 1 and n <= ranks])
    # A third of the captures are too short to decide anything.
    steps = rng.choice([3, 6, 10, 20, 30, 40])
    flags = ["--program", program, "--tp", tp, "--pp", pp, "--dp", dp, "--ep", ep, "--hosts", hosts, "--layers", pp * rng.randint(1, 8 // pp),
             "--steps", steps, "--seed", rng.randrange(1000)]
    if program == "train" and dp > 1:
        flags += ["--shard", rng.choice(["none", "none", "optimizer", "full"]), "--overlap", rng.choice(["on", "on", "off"])]
    if program == "decode" and rng.random() < 0.3:
        flags.append("--graphs")
    if not trains:
        flags += ["--all-reduce", rng.choice(["nccl", "nccl", "custom", "symmetric"])]
    flags += ["--ids", rng.choice(["full", "groups", "names"]), "--format", rng.choice(["kineto", "kineto", "nsys", "mixed"])]
    if hosts > 1 or rng.random() < 0.5:
        flags += ["--clock", f"offset_ms={log(rng, 0.1, 50):.1f},drift_ppm={log(rng, 0.5, 20):.0f},bias_us={rng.uniform(0, 5):.1f},"
                             f"jitter_us={rng.uniform(0.1, 2):.1f}"]
    for chance, defect in ((0.2, f"loss:p={log(rng, 0.0005, 0.05):.4f}"), (0.15, f"stagger:s={log(rng, 0.002, 0.05):.3f}"),
                           (0.1, "burst:n=60"), (0.1, f"missing_rank:rank={rng.randrange(ranks)}")):
        if rng.random() < chance:
            flags += ["--defect", defect]
    flags += ["--noise", f"device_spread={log(rng, 0.0002, 0.01):.4f},end_jitter_us={rng.uniform(0.3, 1):.1f}"]
    for _ in range(rng.choice([0, 1, 1, 1, 2])):
        flags += ["--cause", cause(rng, ranks, hosts, pp, trains)]
    return flags
