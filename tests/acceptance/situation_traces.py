"""The played jobs of situations.py as Kineto and nsys traces."""
import json
import os

from support import nsys_export, string_ids

BASE_NS = 1_767_189_312_000_000_000
# What the metadata of Kineto call an operation.
COLLECTIVE_NAMES = {"all_reduce": "allreduce", "all_gather": "_allgather_base", "reduce_scatter": "_reduce_scatter_base",
                    "broadcast": "broadcast", "reduce": "reduce", "all_to_all": "all_to_allv"}


def host_of(job, rank):
    return rank * job.hosts // job.ranks


def clock_ns(job, rank):
    """By how much the clock of the rank's host is off."""
    return host_of(job, rank) * 1_300_000


def write_kineto(job, played, rank, path):
    events = []
    pid = 10000 + rank
    for number, (start, end) in enumerate(played.steps[rank]):
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": pid, "tid": pid, "ts": start,
                       "dur": end - start})
    device = rank % max(1, job.ranks // job.hosts)
    for number, (start, end, name, stream, launch, operation) in enumerate(played.kernels[rank]):
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": pid, "tid": pid, "ts": launch, "dur": 3.0,
                       "args": {"correlation": number + 1, "cbid": 211}})
        args = {"device": device, "context": 1, "stream": stream, "correlation": number + 1, "grid": [24, 1, 1], "block": [512, 1, 1]}
        if operation and job.metadata and operation[0].op != "other":
            block, root, index = operation
            args |= {"Collective name": COLLECTIVE_NAMES[block.op], "In msg nelems": 131072, "Out msg nelems": 131072, "Group size": job.ranks,
                     "dtype": "BFloat16", "In split size": "[]", "Out split size": "[]", "Process Group Name": "0",
                     "Process Group Description": "default_pg", "Process Group Ranks": str(list(range(job.ranks))), "Seq": index}
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": stream, "ts": start, "dur": end - start, "args": args})
    for start, end in played.syncs[rank]:
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": pid, "tid": pid, "ts": start,
                       "dur": end - start, "args": {"cbid": 131}})
    for event in events:
        event["ts"] = round(event["ts"] + 1000.0, 3)
        event["dur"] = round(event["dur"], 3)
    trace = {"schemaVersion": 1, "host_name": f"node{host_of(job, rank):03}",
             "deviceProperties": [{"id": d, "name": "NVIDIA H100 80GB HBM3", "numSms": 132} for d in range(8)],
             "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": job.ranks},
             "baseTimeNanoseconds": BASE_NS + clock_ns(job, rank), "traceEvents": events}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace, file)


def write_nsys(job, played, ranks, path):
    """One export of the ranks of one host, or of one rank."""
    db = nsys_export(path)
    text = string_ids(db)
    shift = clock_ns(job, ranks[0])
    db.execute("UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = ?", (BASE_NS + shift,))
    db.execute("CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT)")
    db.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1, 'Local (CLI)', 'Hostname', 2, ?)", (f"node{host_of(job, ranks[0]):03}",))
    db.execute("CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)")
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
               "contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER "
               "NOT NULL, shortName INTEGER NOT NULL, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, "
               "blockZ INTEGER)")
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER, globalTid "
               "INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL)")
    db.execute("CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, "
               "textId INTEGER, domainId INTEGER)")
    ns = lambda us: round((us + 1000) * 1000)
    for rank in ranks:
        pid = 10000 + rank
        process = (1 << 48) | (pid << 24)
        db.execute("INSERT INTO PROCESSES VALUES (?, ?, '/usr/bin/python3')", (process, pid))
        device = rank % max(1, job.ranks // job.hosts)
        db.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?, NULL, 0)",
                       [(ns(start), ns(end), f"step {number}", process | pid) for number, (start, end) in enumerate(played.steps[rank])])
        launch_name = text("cudaLaunchKernel_v7000")
        db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0)",
                       [(ns(start), ns(end), process | pid, 1_000_000 + number, text("cudaStreamSynchronize_v3020"))
                        for number, (start, end) in enumerate(played.syncs[rank])])
        for number, (start, end, name, stream, launch, _) in enumerate(played.kernels[rank]):
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, 24, 1, 1, 512, 1, 1)",
                       (ns(start), ns(end), device, stream, number + 1, process, text(name), text(name.split("(")[0].split("<")[0].split(" ")[-1])))
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0)",
                       (ns(launch), ns(launch + 3), process | pid, number + 1, launch_name))
    db.commit()
    db.close()


def write(job, played, folder):
    os.makedirs(folder, exist_ok=True)
    present = [rank for rank in range(job.ranks) if rank != job.missing]
    if job.format == "kineto":
        for rank in present:
            write_kineto(job, played, rank, os.path.join(folder, f"rank{rank}.json"))
    elif job.missing >= 0 or job.seed % 2:
        for rank in present:
            write_nsys(job, played, [rank], os.path.join(folder, f"report_rank{rank}.sqlite"))
    else:
        for host in range(job.hosts):
            write_nsys(job, played, [rank for rank in present if host_of(job, rank) == host],
                       os.path.join(folder, f"report_node{host}.sqlite"))
