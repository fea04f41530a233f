"""Random jobs whose late rank is known, played by a small model of their operations, and what lockstep says of their traces.

The model shares no code with lockstep-simulate. A step is a list of blocks, and each block computes and then communicates. In a
symmetric operation every member waits for all others. In a broadcast the members wait for the root. In a reduce only the root waits,
for all others.
"""
import json
import random
from dataclasses import dataclass, field

from situation_traces import write
from support import run

COMPUTE_NAMES = ["sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "flash_fwd_kernel<Flash_fwd_kernel_traits>",
                 "void at::native::vectorized_elementwise_kernel<4>"]
# Names of NCCL's kernels, by operation.
NCCL = {
    "all_reduce": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "all_gather": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "reduce_scatter": "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "broadcast": "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "reduce": "ncclDevKernel_Reduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "all_to_all": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
}
# Kernels of other libraries that every rank runs at the same time, as NCCL's symmetric operations.
OTHERS = ["void deep_ep::intranode::dispatch<8>(int4*, float*)", "EpDispatchIntraNodeKernel_bf16",
          "tensorrt_llm::kernels::mnnvl::moeA2ADispatchKernel", "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>",
          "acme_fabric_exchange_v3"]


@dataclass
class Block:
    """One computation and the operation after it."""
    compute_us: float
    op: str
    transfer_us: float
    kernel: str
    root: int = -1  # -1: symmetric
    volumes: list = field(default_factory=list)  # per rank, relative; all_to_all


@dataclass
class Job:
    ranks: int
    hosts: int
    steps: int
    blocks: list
    rotating_roots: bool
    noise: float
    overlap: bool
    cause: str  # none, slow_gpu, late_host, stall
    late: int
    amount: float
    format: str
    metadata: bool
    seed: int
    waits_for_device: bool = True  # the host ends each step with cudaStreamSynchronize; otherwise it runs ahead
    missing: int = -1  # rank whose file is not there

    def words(self):
        ops = ",".join(sorted({block.op for block in self.blocks} | {block.kernel for block in self.blocks if block.op == "other"}))
        return (f"{self.ranks} ranks, {self.hosts} hosts, {self.steps} steps of {len(self.blocks)} blocks, {ops}, roots "
                f"{sorted({block.root for block in self.blocks})}{' rotating' if self.rotating_roots else ''}, noise {self.noise:.3f}, "
                f"{'overlapped, ' if self.overlap else ''}{'synchronised, ' if self.waits_for_device else ''}{self.cause} of rank {self.late} by {self.amount:.2f}, {self.format}"
                f"{' with metadata' if self.metadata else ''}{f', without rank {self.missing}' if self.missing >= 0 else ''}")


def draw_job(seed):
    rng = random.Random(seed)
    ranks = rng.choice([2, 3, 4, 4, 6, 8, 8])
    style = rng.choice(["all_reduce", "sharded", "broadcast", "reduce", "all_to_all", "uneven", "other", "mixed"])
    blocks = []
    compute = rng.choice([120, 200, 400])
    fixed_root = rng.randrange(ranks)
    volumes = [1.0] * ranks
    if style == "uneven":
        volumes = [rng.choice([0.5, 1, 1, 3]) for _ in range(ranks)]
    other = rng.choice(OTHERS)
    for index in range(rng.choice([2, 3, 4, 8])):
        op = {"all_reduce": "all_reduce", "sharded": rng.choice(["all_gather", "reduce_scatter"]), "broadcast": "broadcast",
              "reduce": "reduce", "all_to_all": "all_to_all", "uneven": "all_to_all", "other": "other",
              "mixed": rng.choice(["all_reduce", "broadcast", "reduce", "all_gather"])}[style]
        root = (fixed_root if rng.random() < 0.8 else rng.randrange(ranks)) if op in ("broadcast", "reduce") else -1
        kernel = other if op == "other" else NCCL[op]
        transfer = rng.uniform(15, 60)
        blocks.append(Block(compute * rng.uniform(0.7, 1.3), op, transfer, kernel, root, volumes if op == "all_to_all" else []))
    # Training ends its step with an operation of all.
    if style in ("broadcast", "reduce", "mixed") and rng.random() < 0.7:
        blocks.append(Block(compute, "all_reduce", 40, NCCL["all_reduce"]))
    cause = rng.choice(["none", "slow_gpu", "slow_gpu", "late_host", "stall"])
    amount = {"none": 0, "slow_gpu": rng.choice([1.15, 1.3, 1.75]), "late_host": rng.uniform(0.1, 0.5), "stall": rng.uniform(0.5, 2)}[cause]
    format = rng.choice(["kineto", "nsys", "nsys"])
    job = Job(ranks=ranks, hosts=2 if ranks >= 4 and ranks % 2 == 0 and rng.random() < 0.3 else 1, steps=rng.choice([30, 40, 60]),
              blocks=blocks, rotating_roots=rng.random() < 0.3, noise=rng.choice([0.003, 0.01, 0.03]), overlap=rng.random() < 0.3,
              cause=cause, late=rng.randrange(ranks), amount=amount, format=format,
              metadata=format == "kineto" and rng.random() < 0.6, seed=seed)
    # A host that runs ahead hides its own delays.
    job.waits_for_device = cause in ("late_host", "stall") or rng.random() < 0.5
    if rng.random() < 0.15 and ranks > 2:
        job.missing = rng.choice([job.late, rng.randrange(ranks)])
    return job


@dataclass
class Played:
    """What ran: per rank kernels (start, end, name, stream, launch, operation or None), steps (start, end); waits in us."""
    kernels: list
    steps: list
    waits: list
    syncs: list  # per rank: calls that wait for the device (start, end)
    span: float


def awaited(block, root, starts, member):
    """When what `member` waits for is there: it waits from its start until then."""
    others = [start for rank, start in enumerate(starts) if rank != member]
    if root < 0:
        return max(others)
    if block.op == "broadcast":
        return starts[root] if member != root else 0
    return max(others) if member == root else 0


def play(job, with_cause=True):
    rng = random.Random(job.seed * 7919 + 1)
    n = job.ranks
    device = [0.0] * n
    host = [0.0] * n
    kernels = [[] for _ in range(n)]
    steps = [[] for _ in range(n)]
    waits = [0.0] * n
    syncs = [[] for _ in range(n)]
    usual = sum(block.compute_us + block.transfer_us for block in job.blocks)
    comm_free = [0.0] * n
    for step in range(job.steps):
        begun = list(host)
        stalled = rng.random() < 0.25
        for r in range(n):
            host[r] += 5
            if with_cause and r == job.late and (job.cause == "late_host" or (job.cause == "stall" and stalled)):
                host[r] += job.amount * usual  # the device has run dry before, as the host waited for it
        for number, block in enumerate(job.blocks):
            root = (block.root + step) % n if job.rotating_roots and block.root >= 0 else block.root
            starts = []
            for r in range(n):
                took = block.compute_us * max(0.2, rng.gauss(1, job.noise))
                if with_cause and job.cause == "slow_gpu" and r == job.late:
                    took *= job.amount
                launch = host[r]
                start = max(device[r] + 1, launch + 4)
                kernels[r].append((start, start + took, COMPUTE_NAMES[number % 3], 7, launch, None))
                device[r] = start + took
                host[r] += 6
                starts.append(max(device[r], comm_free[r], host[r] + 4) + rng.uniform(1.5, 3))
            for r in range(n):
                there = awaited(block, root, starts, r)
                volume = block.volumes[r] if block.volumes else 1
                end = max(starts[r], there) + block.transfer_us * volume * rng.uniform(0.97, 1.03)
                waits[r] += max(0.0, there - starts[r])
                kernels[r].append((starts[r], end, block.kernel, 20, host[r], (block, root, step * len(job.blocks) + number)))
                host[r] += 6
                comm_free[r] = end
                if not job.overlap or number == len(job.blocks) - 1:
                    device[r] = max(device[r], end)
        for r in range(n):
            if job.waits_for_device:
                begin, host[r] = host[r], max(host[r], device[r], comm_free[r]) + 3
                syncs[r].append((begin, host[r]))
            steps[r].append((begun[r], host[r]))
    return Played(kernels, steps, waits, syncs, max(device))


@dataclass
class Answer:
    verdict: str  # right, silent, wrong, certain and wrong
    wait_is_more: bool  # what is certain of it, than the members truly waited, by a tenth and a hundredth of the time
    told: str


def movers(job):
    """Ranks that move most in uneven exchanges: that they are late by it is no mistake."""
    return {rank for block in job.blocks if block.volumes and max(block.volumes) > min(block.volumes)
            for rank in range(job.ranks) if block.volumes[rank] == max(block.volumes)}


def judge(job, summary, costs):
    named = [culprit for culprit in summary["culprits"]
             if not (culprit["cause"] == "more_data" and set(culprit["ranks"]) <= movers(job))]
    late = job.late if job.cause != "none" else None
    wrong = [culprit for culprit in named if late not in culprit["ranks"]]
    if any(culprit["confidence"] >= 0.8 for culprit in wrong):
        return "certain and wrong"
    if wrong:
        return "wrong"
    unresolved = summary["unresolved"] is not None and summary["unresolved"]["leads"]
    if named or not costs:
        return "right"
    unsure = unresolved or summary["ranks_assumed_all"] or summary["verdict"] == "inconclusive"
    return "silent" if unsure else "wrong"


def ask(job, folder):
    """Plays and writes the job, and what lockstep says of it."""
    played = play(job)
    without = play(job, with_cause=False)
    write(job, played, folder)
    done = run("lockstep", "analyze", folder, "--format", "json")
    if done.returncode != 0:
        return Answer("wrong", False, f"exit {done.returncode}: {done.stderr[:200]}")
    report = json.loads(done.stdout)
    summary = report["summary"]
    rank_time = played.span * job.ranks
    # A rank that keeps nobody waiting, as the root of broadcasts need not, costs the others nothing.
    costs = without.span < 0.97 * played.span and sum(played.waits) - sum(without.waits) > 0.02 * rank_time
    told_us = (summary["wait_total_ns"] or 0) / 1000
    more = summary["certain_wait_ns"] / 1000 > 1.1 * sum(played.waits) + 0.01 * rank_time
    named = [(culprit["ranks"], culprit["confidence"], culprit["cause"]) for culprit in summary["culprits"]]
    told = (f"{summary['verdict']}, {named}, {told_us:.0f} of {sum(played.waits):.0f} us of waiting, "
            f"{report['run']['ranks']} ranks")
    return Answer(judge(job, summary, costs), more, told)
