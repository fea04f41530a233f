"""One answer of lockstep as a reader has it: the document of all views, and the text of those that a person compares by eye."""
import json
import os
import re

from support import run

# What a person reads beside the headline.
SCREEN = "summary,steps,skew,overlap,stragglers,findings,quality"
TITLES = ("where the GPU time goes", "worst collectives", "worst tails", "problems in the data", "next", "quality of the data",
          "records with defects", "files", "skew", "skew by step", "overlap", "steps", "host calls by rank", "slow steps", "stragglers",
          "findings", "notices")
STRAGGLER_KINDS = ("persistent", "periodic", "bursty", "random")


class Answer:
    """What lockstep says about one run. `sections` holds the text by heading; "" is what is above the first one."""

    def __init__(self, name, *arguments):
        self.name = name
        wide = {**os.environ, "COLUMNS": "2000"}
        done = run("lockstep", "analyze", *arguments, "--view", "all", "--format", "json")
        self.refused = done.returncode == 2
        if self.refused:
            return
        assert done.returncode == 0, f"{name}: exit {done.returncode}\n{done.stderr}"
        self.report = json.loads(done.stdout)
        shown = run("lockstep", "analyze", *arguments, "--view", SCREEN, "--strict", "--limit", 1000, env=wide)
        self.strict_exit = shown.returncode
        self.text = shown.stdout
        self.sections = sections_of(shown.stdout)
        self.summary = self.report["summary"]
        self.culprits = self.summary["culprits"]
        self.present = {row["rank"] for row in self.report["ranks"]}
        self.headline = headline_of(self.sections[""])

    def view(self, name):
        return self.report[name]

    @property
    def leads(self):
        return self.summary["unresolved"] is not None and self.summary["unresolved"]["leads"]

    @property
    def certain(self):
        """Those that the headline names without doubt."""
        return [culprit for culprit in self.culprits if culprit["confidence"] >= 0.8]


def sections_of(text):
    sections, title = {"": ""}, ""
    for line in text.splitlines():
        known = next((it for it in TITLES if line == it or line.startswith(it + "  ")), None)
        if known is not None:
            title = known
            sections[title] = ""
        sections[title] += line + "\n"
    return sections


def headline_of(head):
    """The sentences after the line of the step time, without the items of the culprits."""
    lines = [line for line in head.splitlines() if line and not line.startswith("  ")]
    return [line for line in lines if not line.startswith(("run ", "step time", "missing ranks", "selection", "left out"))]


def percent(ratio):
    """As the text writes it."""
    value = 100 * ratio
    decimals = 0 if value == 0 or abs(value) >= 99.95 else 2 if abs(value) < 1 else 1
    return f"{value:.{decimals}f} %"


TIME = r"(-?[\d.,]+(?:e[+-]\d+)?) (ns|us|ms|s)\b"
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def times_of(sentence):
    """All times of a sentence, in ns."""
    return [float(value.replace(",", "")) * UNITS[unit] for value, unit in re.findall(TIME, sentence)]


def about(a, b, digits=3):
    """Equal, but for the rounding to so many digits."""
    return abs(a - b) <= 1.01 * max(abs(a), abs(b)) * 0.5 * 10 ** (1 - digits) + 1e-9


def ranks_in(sentence):
    """The ranks that a sentence names: "rank 3", "ranks 1, 3 and 5", "ranks 0-3"."""
    found = set()
    for listed in re.findall(r"\branks? ((?:\d+(?:-\d+)?(?:, | and )?)+)", sentence):
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", listed):
            found |= set(range(int(first), int(last or first) + 1))
    return found
