#!/usr/bin/python3
"""What Python analyses of Kineto traces begin with: json.load and a DataFrame of the events, two files at a time.

    bench/baseline_pandas.py [--jobs N] FILE...

Prints {"wall_s", "peak_mib", "events"} as JSON; peak_mib is that of all workers together.
"""
import argparse
import concurrent.futures
import gzip
import json
import resource
import time

import pandas


def load(path):
    """Events of one trace, and the peak of the worker that loaded it."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        trace = json.load(file)
    events = len(pandas.DataFrame(trace["traceEvents"]))
    return events, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--jobs", type=int, default=2, help="files at a time")
    args = parser.parse_args()
    begin = time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        loaded = list(pool.map(load, args.files))
    wall = time.monotonic() - begin
    peak = sum(sorted((peak for _, peak in loaded), reverse=True)[:args.jobs])
    print(json.dumps({"wall_s": wall, "peak_mib": peak, "events": [events for events, _ in loaded]}))


if __name__ == "__main__":
    main()
