"""Two results of bench/run beside each other: what got worse by more than chance does."""
import json
import statistics
from typing import NamedTuple, Optional

SCHEMA = "lockstep.bench/1"
# How far a value of each kind strays from run to run on an idle machine, as a share of itself. A ratio is to a limit that was measured
# in the same run; times and memory are absolute; bytes depend on the input alone.
NOISE = {"ratio": 0.10, "time": 0.15, "memory": 0.05, "bytes": 0.005}
# What tells nothing about this machine when it was measured on another one.
OF_THE_MACHINE = {"time"}


class Line(NamedTuple):
    """One value of two results. What there is none of is None; `bad`: it must not be."""
    what: str
    before: Optional[float] = None
    after: Optional[float] = None
    change: Optional[float] = None
    noise: Optional[float] = None
    verdict: str = ""
    bad: bool = False


class Unusable(Exception):
    """A file that is no result, or results that cannot stand beside each other."""


def load(path):
    """The result of bench/run at a path."""
    try:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
    except (OSError, ValueError) as error:
        raise Unusable(f"{path}: {error}") from error
    if not isinstance(result, dict) or result.get("schema") != SCHEMA:
        raise Unusable(f"{path}: no result of bench/run --json of this version ({SCHEMA})")
    return result


def median_of(results):
    """One result of several runs: medians of the values; held is what more than half of the runs held."""
    first = results[0]
    for other in results[1:]:
        check_alike(first, other)
    names = list(dict.fromkeys(name for result in results for name in result["figures"]))
    figures = {name: median_row([result["figures"][name] for result in results if result["figures"].get(name)]) for name in names}
    return {**first, "figures": figures, "runs": sum(result.get("runs", 1) for result in results),
            "machine": first["machine"] if all(result["machine"] == first["machine"] for result in results) else None}


def median_row(rows):
    if not rows:
        return None
    keys = list(dict.fromkeys(key for row in rows for key in row["compared"]))
    compared = {}
    for key in keys:
        of_runs = [row["compared"][key] for row in rows if key in row["compared"]]
        compared[key] = {**of_runs[0], "value": statistics.median(one["value"] for one in of_runs)}
    return {**rows[0], "compared": compared, "held": 2 * sum(row["held"] for row in rows) > len(rows)}


def check_alike(baseline, now):
    if baseline["quick"] != now["quick"]:
        raise Unusable("one result is of --quick and the other is not: their inputs differ")


def compare_value(what, before, after, noise):
    """By the share that the value changed; of a value that was nothing there is no share."""
    if after["value"] == before["value"]:
        return Line(what, before["value"], after["value"], 0.0, noise, "same")
    rises = after["value"] > before["value"]
    change = (after["value"] - before["value"]) / before["value"] if before["value"] else None
    if change is not None and abs(change) <= noise:
        return Line(what, before["value"], after["value"], change, noise, "same")
    worse = rises != (after["better"] == "more")
    return Line(what, before["value"], after["value"], change, noise, "WORSE" if worse else "better", worse)


def compare_figure(name, before, after, noise, same_machine):
    if before is None:
        return [Line(name, verdict="not in the baseline" if after else "not measured")]
    if after is None:
        return [Line(name, verdict="NOT MEASURED any more", bad=True)]
    lines = []
    for key, was in before["compared"].items():
        what, now = f"{name}.{key}", after["compared"].get(key)
        if now is None:
            lines.append(Line(what, was["value"], verdict="NOT MEASURED any more", bad=True))
        elif was["kind"] in OF_THE_MACHINE and not same_machine:
            lines.append(Line(what, was["value"], now["value"], verdict="other machine"))
        else:
            lines.append(compare_value(what, was, now, noise[was["kind"]]))
    if before["held"] and not after["held"]:
        lines.append(Line(name, verdict=f"NO LONGER HELD: {after['figure']}, budget {after['budget']}", bad=True))
    return lines


def compare(baseline, now, noise, only=None):
    """The lines of all figures of either, or of those alone, in the baseline's order."""
    check_alike(baseline, now)
    same_machine = baseline["machine"] is not None and baseline["machine"] == now["machine"]
    names = list(dict.fromkeys([*baseline["figures"], *now["figures"]]))
    unknown = sorted(set(only or ()) - set(names))
    if unknown:
        raise Unusable(f"neither result has a figure {unknown[0]}")
    lines = []
    for name in names:
        if only is None or name in only:
            lines += compare_figure(name, baseline["figures"].get(name), now["figures"].get(name), noise, same_machine)
    return lines
