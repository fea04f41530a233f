#!/usr/bin/env python3
"""Checks that every golden document fits docs/report.schema.json, and that broken documents do not.

    tests/golden/validate_schema.py [DOCUMENT...]     default: all of tests/golden
"""
import copy
import glob
import json
import os
import sys

from jsonschema import Draft202012Validator

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def without(document, *path):
    broken = copy.deepcopy(document)
    node = broken
    for key in path[:-1]:
        node = node[key]
    del node[path[-1]]
    return broken


def changed(document, value, *path):
    broken = copy.deepcopy(document)
    node = broken
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return broken


def broken_documents(document):
    """Each violates one promise of the format."""
    yield "no run", without(document, "run")
    yield "another schema", changed(document, "lockstep.report/2", "schema")
    yield "a view that is null", changed(document, None, "kernels")
    yield "a field is missing", without(document, "overlap", 0, "idle_ns")
    yield "a percentile is missing", without(document, "kernels", 0, "duration_ns", "p99")
    yield "seq is a number", changed(document, 7, "skew", "instances", 1, "seq")
    yield "a time since 1970 is a number", changed(document, 1728123456789012345, "run", "start_unix_ns")
    yield "a negative time", changed(document, -1, "overlap", 0, "span_ns")
    yield "a time with a fraction", changed(document, 1.5, "steps", 0, "span_ns")
    yield "an unknown verdict", changed(document, "bad luck", "summary", "verdict")
    yield "an object view that is half there", changed(document, {"gates": []}, "quality")


def main():
    schema = load(os.path.join(ROOT, "docs", "report.schema.json"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    golden = sorted(glob.glob(os.path.join(ROOT, "tests", "golden", "*.json")))
    failures = 0
    for path in sys.argv[1:] or golden:
        for error in validator.iter_errors(load(path)):
            failures += 1
            print(f"{path}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")
    for what, document in broken_documents(load(os.path.join(ROOT, "tests", "golden", "all_views.json"))):
        if validator.is_valid(document):
            failures += 1
            print(f"the schema accepts a document with: {what}")
    print(f"{len(sys.argv[1:] or golden)} documents, {failures} problems")
    return 1 if failures or not golden else 0


if __name__ == "__main__":
    sys.exit(main())
