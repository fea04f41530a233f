"""`--format html`: one file that is safe to mail, holds the numbers of the JSON, and says the same as the text."""
import base64
import copy
import hashlib
import html
import json
import os
import re
import shutil
import tempfile
import unittest
import zlib

from compare_test import compare
from support import DATA, analyze, needs_traces, run, simulate

LATE = ("--program", "decode", "--tp", "8", "--hosts", "1", "--gpus-per-host", "8", "--steps", "24", "--layers", "16", "--seed", "7",
        "--cause", "late_host:rank=5,us=60,p=0.3")
VIEWS = ("summary", "ranks", "quality", "families", "collectives", "tails", "clock", "stragglers", "findings", "imbalance", "overlap",
         "profile", "pictures")


def unpacked(data):
    return json.loads(zlib.decompress(base64.b64decode(data), -15))


def put_together(first, parts):
    """The whole document: each part is at its path in the first one."""
    document = copy.deepcopy(first)
    for path, part in parts.items():
        *owners, key = path.split(".")
        owner = document
        for name in owners:
            owner = owner[name]
        assert key not in owner, path
        owner[key] = part
    return document


class Page:
    """A page taken apart, as a browser would."""

    def __init__(self, text):
        self.text = text
        self.policy = html.unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1])
        self.style = re.search(r"<style>(.*?)</style>", text, re.S)[1]
        (data, self.script, later) = re.search(r'<script type="application/octet-stream" id="lockstep-data">([^<]*)</script>\s*'
                                               r"<script>(.*?)</script>\s*((?:<script [^>]*>[^<]*</script>\s*)*)</body>", text,
                                               re.S).groups()
        self.first = unpacked(data)
        self.parts = {path: unpacked(part) for path, part in re.findall(r'<script type="application/octet-stream" data-path="([^"]*)">'
                                                                        r"([^<]*)</script>", later)}
        self.document = put_together(self.first, self.parts)
        self.static = text[text.index('<main id="static">'):text.index("</main>")]

    def rows(self, value):
        """A list that may be stored by column."""
        if isinstance(value, list):
            return value
        columns = value["@columns"]
        return [{key: column[i] for key, column in columns.items()} for i in range(value["@length"])]


def hash_of(source):
    return "'sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode() + "'"


def codes(text):
    return [ord(c) - (0x20 if ord(c) < 0x80 else 0x120) for c in text]


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="lockstep-acceptance-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        probe = run("lockstep", "analyze", cls.folder, "--format", "html")
        if "built without pages" in probe.stderr:
            raise unittest.SkipTest("SKIPPED LOUDLY: this build has no pages, because node or npm is missing")
        cls.traces = simulate(os.path.join(cls.folder, "late"), *LATE)

    def page_of(self, *args):
        path = os.path.join(self.folder, "page.html")
        done = run("lockstep", *args, "--format", "html", "--output", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, encoding="utf-8") as file:
            return Page(file.read())

    def test_the_page_holds_the_numbers_of_the_json(self):
        page = self.page_of("analyze", self.traces)
        report = analyze(self.traces, "--view", ",".join(VIEWS))
        drawn = page.document["report"]
        for view in ("summary", "ranks", "clock", "stragglers", "findings", "families", "pictures"):
            self.assertEqual(drawn[view], report[view], view)
        self.assertEqual(page.rows(drawn["collectives"]), report["collectives"])
        self.assertEqual(page.rows(drawn["profile"]["by_rank"]), report["profile"]["by_rank"])

    def test_the_first_picture_is_told_before_the_lists_that_grow_with_the_ranks(self):
        page = self.page_of("analyze", self.traces)
        first = page.first["report"]
        self.assertEqual(sorted(first["pictures"]), ["blame_ns", "columns", "hosts", "layers", "ranks"])
        self.assertEqual(first["summary"], page.document["report"]["summary"])
        later = [f"report.{view}" for view in ("ranks", "quality", "families", "collectives", "overlap", "tails", "profile",
                                               "clock.hosts", "pictures.pace", "pictures.instances", "pictures.tails")]
        self.assertEqual(list(page.parts), later)

    def test_the_late_rank_is_the_first_thing_that_is_said_and_the_row_with_the_largest_values(self):
        page = self.page_of("analyze", self.traces)
        self.assertTrue(page.document["headline"][0].startswith("Rank 5 makes the others wait: "), page.document["headline"])
        text = run("lockstep", "analyze", self.traces).stdout
        for sentence in page.document["headline"]:
            self.assertIn(sentence, text)
            self.assertIn(html.escape(sentence, quote=True), page.static)
        pictures = page.document["report"]["pictures"]
        (tile,) = pictures["layers"][0]["tiles"]
        cells = codes(tile["cells"])
        self.assertEqual(len(cells), 8 * 24)
        rows = [cells[row * 24:(row + 1) * 24] for row in range(8)]
        for step in range(24):
            self.assertEqual(max(range(8), key=lambda row: rows[row][step]), 5)
        self.assertEqual(max(zip(pictures["blame_ns"], pictures["ranks"]))[1], 5)

    def test_every_field_of_the_page_has_its_definition(self):
        page = self.page_of("analyze", self.traces)
        definitions = page.document["definitions"]

        def check(value, path):
            if isinstance(value, dict) and "@columns" in value:
                value = page.rows(value)
            if isinstance(value, list):
                for item in value[:3]:
                    check(item, path + "[]")
            elif isinstance(value, dict) and any(name.startswith(path + ".") or not path for name in definitions):
                for key, inner in value.items():
                    name = f"{path}.{key}" if path else key
                    self.assertRegex(definitions.get(name, ""), r"\.$", name)
                    check(inner, name)

        check(page.document["report"], "")
        self.assertGreater(len(definitions), 200)

    def test_nothing_is_fetched_and_only_our_script_and_style_may_run(self):
        page = self.page_of("analyze", self.traces)
        rules = dict(rule.strip().split(" ", 1) for rule in page.policy.split(";"))
        self.assertEqual(rules["default-src"], "'none'")
        self.assertEqual(rules["script-src"], hash_of(page.script))
        self.assertEqual(rules["style-src"], hash_of(page.style))
        self.assertEqual(rules["connect-src"], "'none'")
        markup = page.text.replace(page.script, "").replace(page.style, "")
        self.assertNotRegex(markup, r"\b(src|href)\s*=")
        self.assertNotRegex(markup, r"\bon\w+\s*=\s*[\"']")
        self.assertNotRegex(markup, r"\bstyle\s*=")

    def test_script_and_style_are_small(self):
        page = self.page_of("analyze", self.traces)
        self.assertLessEqual(len(page.script.encode()) + len(page.style.encode()), 150_000)

    def test_the_same_traces_give_the_same_bytes_also_from_a_store(self):
        store = os.path.join(self.folder, "runs.db")
        first = self.page_of("analyze", self.traces, "--store", store, "--run", "monday").text
        self.assertEqual(self.page_of("show", "monday", "--store", store).text, first)
        self.assertEqual(self.page_of("analyze", self.traces, "--run", "monday").text, first)

    def test_names_that_are_markup_stay_names(self):
        hostile = os.path.join(self.folder, "hostile")
        os.mkdir(hostile)
        evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202egnp.\u0001"
        for rank in (0, 1):
            events = [{"ph": "X", "cat": "kernel", "name": evil if i % 2 else "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0,
                       "tid": 7, "ts": 1000 * i + 100 * rank, "dur": 600 - 100 * rank * (i % 2 == 0),
                       "args": {"stream": 7, "device": 0, "correlation": i}} for i in range(40)]
            with open(os.path.join(hostile, f"rank{rank}.json"), "w", encoding="utf-8") as file:
                json.dump({"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2, "backend": "nccl"},
                           "deviceProperties": [{"id": 0, "name": "<b>GPU</b>"}], "traceEvents": events}, file)
        page = self.page_of("analyze", hostile, "--run", "<i>run</i>")
        self.assertNotIn("alert(1)", page.text.replace(page.script, ""))
        self.assertNotIn("<i>run", page.text)
        self.assertIn("&lt;i&gt;run&lt;/i&gt;", page.static)
        names = [kernel["name"] for kernel in page.rows(page.document["report"]["profile"]["kernels"])]
        self.assertTrue(any("</script>" in name for name in names), names)

    def test_a_name_that_turns_text_around_is_shown_by_a_mark(self):
        page = self.page_of("analyze", self.traces, "--run", "x\u202erev")
        self.assertNotIn("\u202e", page.text)
        self.assertIn("<title>x?rev - lockstep</title>", page.text)

    def test_a_comparison_is_a_page_too(self):
        page = self.page_of("compare", self.traces, self.traces)
        document = compare(self.traces, self.traces)
        self.assertEqual(page.document["kind"], "comparison")
        self.assertEqual(page.document["headline"], [document["headline"]["sentence"]])
        self.assertEqual(page.rows(page.document["comparison"]["ledger"]), document["ledger"])
        self.assertIn(html.escape(document["headline"]["sentence"], quote=True), page.static)

    def test_a_page_shows_all_views_and_refuses_to_be_told_which(self):
        for args in (("analyze", self.traces, "--view", "skew"), ("compare", "--self", self.traces),
                     ("compare", self.traces, self.traces, self.traces, "--by", "batch")):
            done = run("lockstep", *args, "--format", "html")
            self.assertEqual(done.returncode, 1, args)
            self.assertIn("--format html", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_one_rank_without_collectives_is_a_page_that_says_so(self):
        alone = simulate(os.path.join(self.folder, "alone"), "--tp", "1", "--steps", "4", "--layers", "2")
        page = self.page_of("analyze", alone)
        self.assertEqual(page.document["report"]["pictures"]["layers"], [])
        self.assertTrue(page.document["headline"][0].startswith("No waiting is visible: "), page.document["headline"])

    @needs_traces
    def test_eight_real_ranks_fit_into_a_mail(self):
        page = self.page_of("analyze", os.path.join(DATA, "kineto", "param_dlrm_8rank_v100"))
        self.assertLessEqual(len(page.text.encode()), 1_500_000)
        self.assertEqual(len(page.document["report"]["pictures"]["ranks"]), 8)


if __name__ == "__main__":
    unittest.main()
