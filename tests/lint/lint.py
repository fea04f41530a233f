#!/usr/bin/env python3
"""House rules that a compiler does not check. Prints every violation with file and line; exit 1 if there is any.

* layering: which room may include which (the arrows of the architecture)
* analysis/ is pure: no file, socket, thread, log, clock or randomness
* heavy libraries stay in their named places; gRPC in at most six translation units
* banned calls, unfinished marks, file and line lengths, clang-format
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOMS = ["proto", "analysis", "platform", "agent", "aggregator", "cli", "tests", "bench"]
MAY_INCLUDE = {
    "analysis": {"analysis"},
    "proto": {"proto", "analysis", "lockstep"},
    "platform": {"platform", "analysis"},
    "agent": {"agent", "platform", "analysis", "proto", "lockstep"},
    "aggregator": {"aggregator", "platform", "analysis", "proto", "lockstep"},
    "cli": set(ROOMS) | {"lockstep"},
    "tests": set(ROOMS) | {"lockstep"},
    "bench": set(ROOMS) | {"lockstep"},
}
# Inside analysis/, in order: a folder includes itself and what stands before it.
ANALYSIS_ORDER = ["base", "stats", "model", "condense", "metrics", "report"]
METRICS_ORDER = ["run", "clock_align", "match", "skew", "fleet", "arrivals", "replay", "causes", "stragglers", "kernels", "summary", "findings"]
IMPURE = {
    "iostream", "fstream", "ofstream", "filesystem", "thread", "mutex", "shared_mutex", "condition_variable", "future",
    "atomic", "chrono", "ctime", "time.h", "random", "stdio.h", "unistd.h", "fcntl.h", "sys/socket.h", "sys/stat.h",
    "pthread.h", "semaphore", "barrier", "latch", "stop_token",
}
HEAVY = [
    (re.compile(r"^(grpcpp|grpc)/|\.grpc\.pb\.h$"), "gRPC", re.compile(
        r"^(agent/uplink/grpc/|aggregator/grpc/|cli/|tests/|bench/)")),
    (re.compile(r"^sqlite3\.h$"), "sqlite3", re.compile(r"^(platform/sqlite\.cc$|bench/)")),
    (re.compile(r"^openssl/"), "OpenSSL", re.compile(r"^platform/(digest|pem)\.cc$")),
    (re.compile(r"^httplib\.h$"), "cpp-httplib", re.compile(r"^(platform/http/|tests/)")),
    (re.compile(r"^simdjson"), "simdjson", re.compile(r"^(agent/readers/|cli/json/|tests/|bench/)")),
    (re.compile(r"^spdlog/"), "spdlog", re.compile(r"^platform/log\.(cc|h)$")),
    (re.compile(r"^(isa-l|zlib\.h)"), "inflate", re.compile(r"^(platform/|bench/|tests/)")),
]
MAX_GRPC_UNITS = 6
BANNED = [
    (re.compile(r"\bstd::sto(i|l|ll|ul|ull|f|d|ld)\b"), "std::sto*: use std::from_chars"),
    (re.compile(r"\b(strtok|sprintf|strcpy|strcat|gets|atoi|atol|atof)\s*\("), "unsafe C call"),
    (re.compile(r"\busing namespace\b"), "using namespace"),
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "unfinished mark"),
    (re.compile(r"\bthrow\b(?!\()"), "throw: errors are values"),
]
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
MAX_LINES = 600

problems = []


def problem(path, line, text):
    problems.append(f"{path}:{line}: {text}")


def sources():
    for room in ROOMS:
        for folder, _, files in os.walk(os.path.join(ROOT, room)):
            for name in sorted(files):
                if name.endswith((".h", ".cc")):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def check_include(path, number, quote, target):
    room = path.split("/")[0]
    if quote == '"' or target.split("/")[0] in ROOMS:
        other = target.split("/")[0]
        if other in ROOMS + ["lockstep"] and other not in MAY_INCLUDE[room]:
            problem(path, number, f"{room} must not include {target}")
        if room == "analysis" and other == "analysis":
            own, theirs = path.split("/")[1], target.split("/")[1]
            if ANALYSIS_ORDER.index(theirs) > ANALYSIS_ORDER.index(own):
                problem(path, number, f"analysis/{own} must not include analysis/{theirs}")
            if own == theirs == "metrics":
                own, theirs = path.split("/")[2], target.split("/")[2]
                if METRICS_ORDER.index(theirs) > METRICS_ORDER.index(own):
                    problem(path, number, f"analysis/metrics/{own} must not include analysis/metrics/{theirs}")
    if room == "analysis" and target in IMPURE:
        problem(path, number, f"analysis is pure: no <{target}>")
    for pattern, name, allowed in HEAVY:
        if pattern.search(target) and not allowed.match(path):
            problem(path, number, f"{name} must not be used here")


def code_of(line):
    """The line without string literals and comments, near enough for banned words."""
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return line.split("//")[0]


def check_file(path, grpc_units):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        lines = file.read().split("\n")
    if len(lines) > MAX_LINES and not path.startswith("tests/"):
        problem(path, len(lines), f"longer than {MAX_LINES} lines")
    if path.endswith(".h") and not any(line.startswith("#pragma once") for line in lines):
        problem(path, 1, "header without #pragma once")
    uses_grpc = False
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if match:
            check_include(path, number, match.group(1), match.group(2))
            uses_grpc |= bool(HEAVY[0][0].search(match.group(2)))
        if len(line) > 120 and "http" not in line and not path.startswith("tests/"):
            problem(path, number, f"{len(line)} characters")
        for pattern, text in BANNED:
            if pattern.search(line if "unfinished" in text else code_of(line)):
                problem(path, number, text)
    if uses_grpc and path.endswith(".cc") and not path.startswith(("tests/", "bench/")):
        grpc_units.append(path)


def check_format(paths):
    tool = "clang-format"
    result = subprocess.run([tool, "--dry-run", "-Werror", *paths], cwd=ROOT, capture_output=True, text=True)
    if result.returncode != 0:
        bad = sorted({line.split(":")[0] for line in result.stderr.split("\n") if ": error:" in line})
        for path in bad:
            problem(path, 1, "not as clang-format writes it (clang-format -i FILE)")


def main():
    grpc_units = []
    paths = list(sources())
    for path in paths:
        check_file(path, grpc_units)
    if len(grpc_units) > MAX_GRPC_UNITS:
        problem(grpc_units[-1], 1, f"gRPC in {len(grpc_units)} translation units, at most {MAX_GRPC_UNITS}: {grpc_units}")
    check_format(paths)
    for text in problems:
        print(text)
    print(f"lint: {len(paths)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
