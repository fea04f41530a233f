#!/usr/bin/env python3
"""House rules that a compiler does not check. Prints every violation with file and line; exit 1 if there is any.

* layering: which room may include which (the arrows of the architecture)
* analysis/ is pure: no file, socket, thread, log, clock or randomness
* heavy libraries stay in their named places; gRPC in at most six translation units
* banned calls, unfinished marks, file and line lengths, clang-format
* plain words: what people read (texts of the programs, README.md, docs/*.md) is free of words that readers stumbled over
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOMS = ["proto", "analysis", "platform", "web", "agent", "aggregator", "cli", "tests", "bench"]
MAY_INCLUDE = {
    "analysis": {"analysis"},
    "proto": {"proto", "analysis", "lockstep"},
    "platform": {"platform", "analysis"},
    "web": {"web", "platform", "analysis"},
    "agent": {"agent", "platform", "analysis", "proto", "lockstep"},
    "aggregator": {"aggregator", "web", "platform", "analysis", "proto", "lockstep"},
    "cli": set(ROOMS) | {"lockstep"},
    "tests": set(ROOMS) | {"lockstep"},
    "bench": set(ROOMS) | {"lockstep"},
}
# Inside analysis/, in order: a folder includes itself and what stands before it.
ANALYSIS_ORDER = ["base", "stats", "model", "condense", "metrics", "report", "compare", "export"]
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
    (re.compile(r"^simdjson"), "simdjson", re.compile(r"^(agent/readers/|web/json/|tests/|bench/)")),
    (re.compile(r"^boost/"), "Boost", re.compile(r"^platform/web/[a-z_]*\.cc$")),
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
# What people read: string literals of these folders, and these documents. Each word with what to write instead.
SPOKEN = ("analysis/report/", "analysis/metrics/findings/", "analysis/metrics/summary/", "cli/", "agent/", "aggregator/")
STUMBLING = [
    (re.compile(r"\buntold\b", re.I), "unattributed, or unknown"),
    (re.compile(r"\banew\b", re.I), "again"),
    (re.compile(r"\btold by\b", re.I), "from, or source"),
    (re.compile(r"\b(not|is|are) told\b(?! apart)", re.I), "known, determined, reported"),
    (re.compile(r"\brank-time\b", re.I), "GPU time"),
    (re.compile(r"\blies?\b", re.I), "is, are"),
    (re.compile(r"\bstands?\b(?! for\b)", re.I), "is"),
    (re.compile(r"\bnevertheless\b", re.I), "still, however"),
    (re.compile(r"\bbesides?\b", re.I), "with, next to, also"),
    (re.compile(r"\bas the others\b", re.I), "as its peers"),
    (re.compile(r"\bgains?\b", re.I), "saving"),
    (re.compile(r"\bin no rhythm\b|\bwithout an order\b", re.I), "irregularly"),
    (re.compile(r"\bstrangers?\b|\bwhoever\b|\bthereof\b|\bwherein\b", re.I), "plain English"),
]
CPP_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|\'(?:\\.|[^\'\\\n])\'|(?:"(?:\\.|[^"\\\n])*"\s*)+', re.S)
CPP_STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"')
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


def texts_of(path, content):
    """The texts of a file that people read, each as a list of (line, part): literals in a row are one text."""
    if path.endswith(".md"):
        yield [(number, line + " ") for number, line in enumerate(content.split("\n"), 1)]
        return
    code = re.sub(r"^\s*#.*$", "", content, flags=re.M)
    for token in CPP_TOKEN.finditer(code):
        if not token.group().startswith('"'):
            continue
        yield [(code.count("\n", 0, token.start() + part.start()) + 1, part.group(1))
               for part in CPP_STRING.finditer(token.group())]


def line_at(parts, offset):
    for number, part in parts:
        if offset < len(part):
            return number
        offset -= len(part)
    return parts[-1][0]


def check_words(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        content = file.read()
    for parts in texts_of(path, content):
        text = "".join(part for _, part in parts)
        for pattern, instead in STUMBLING:
            for match in pattern.finditer(text):
                problem(path, line_at(parts, match.start()), f"'{match.group()}' is not plain: {instead}")


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
    documents = [f"docs/{name}" for name in sorted(os.listdir(os.path.join(ROOT, "docs"))) if name.endswith(".md")]
    for path in [path for path in paths if path.startswith(SPOKEN)] + documents + ["README.md"]:
        check_words(path)
    check_format(paths)
    for text in problems:
        print(text)
    print(f"lint: {len(paths)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
