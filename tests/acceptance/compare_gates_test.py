"""Gates of `lockstep compare` in a shell: they fail only where the interval says so. Bad input: clear sentences, and what can still
be compared is. The shell of docs/ci.md does what the document says."""
import glob
import gzip
import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from compare_test import CHANGED, SMALL, Comparing, compare, metric
from support import BIN, ROOT, run, simulate


class Gates(Comparing):
    """Three repeats of the code as it was, of identical code, and of code whose kernels all take longer, in a store."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="lockstep-acceptance-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.store = os.path.join(cls.folder, "runs.db")
        cls.same = [cls.stored(f"same{seed}", seed) for seed in (1, 2, 3)]
        cls.again = [cls.stored(f"again{seed}", seed) for seed in (5, 6, 7)]
        cls.slower = {scale: [cls.stored(f"x{scale}-{seed}", seed, "--model-scale", scale) for seed in (5, 6, 7)]
                      for scale in (1.05, 1.08, 1.15)}

    @classmethod
    def stored(cls, name, seed, *args):
        traces = simulate(os.path.join(cls.folder, name), *SMALL, "--seed", seed, *args)
        done = run("lockstep", "analyze", traces, "--store", cls.store, "--run", name)
        assert done.returncode == 0, done.stderr
        return f"{name}@{cls.store}"

    def in_shell(self, *args):
        """The exit code, and what a script prints that only knows whether the command failed."""
        line = "lockstep compare " + " ".join(f"'{word}'" for word in args) + " > comparison.txt && echo passed || echo failed $?"
        environment = {**os.environ, "PATH": BIN + os.pathsep + os.environ["PATH"]}
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=self.dir, env=environment, timeout=300)
        with open(self.path("comparison.txt"), encoding="utf-8") as file:
            return done.stdout.strip() + done.stderr, file.read()

    def test_a_gate_fails_where_repeats_prove_three_percent_or_more(self):
        for scale, least in ((1.08, 0.03), (1.15, 0.05)):
            said, text = self.in_shell("--base", *self.same, "--new", *self.slower[scale], "--gate", "step_time<=2%")
            self.assertEqual(said, "failed 4")
            self.assertIn("fails: step_time<=2%, measured", text)
            document = compare("--base", *self.same, "--new", *self.slower[scale], "--gate", "step_time<=2%", code=4)
            (gate,) = document["gates"]
            self.assertGreaterEqual(gate["value"], least)
            self.assertGreater(gate["interval"][0], gate["limit"])

    def test_a_gate_holds_where_nothing_changed(self):
        said, text = self.in_shell("--base", *self.same, "--new", *self.again, "--gate", "step_time<=2%", "--strict-unclear")
        self.assertEqual(said, "passed")
        self.assertIn("holds: step_time<=2%", text)

    def test_a_gate_holds_where_the_run_became_faster(self):
        said, _ = self.in_shell("--base", *self.slower[1.15], "--new", *self.again, "--gate", "step_time<=2%", "--strict-unclear")
        self.assertEqual(said, "passed")

    def test_an_unclear_gate_fails_only_under_strict_unclear(self):
        """One pair with a change about as large as the gate: nobody can know."""
        arguments = [self.same[0], self.slower[1.05][0], "--gate", "step_time<=2%"]
        said, text = self.in_shell(*arguments)
        self.assertEqual(said, "passed")
        self.assertIn("unclear: step_time<=2%", text)
        self.assertEqual(self.in_shell(*arguments, "--strict-unclear")[0], "failed 4")

    def test_gates_of_kernels_and_families_are_about_these_alone(self):
        self.assertIn("passed", self.in_shell("--base", *self.same, "--new", *self.slower[1.08], "--gate", "kernel:nccl<=50%")[0])
        for gate in ("kernel:nvjet.*<=3%", "family:gemm<=3%", "compute<=3%", "compute<=1us"):
            self.assertEqual(self.in_shell("--base", *self.same, "--new", *self.slower[1.08], "--gate", gate)[0], "failed 4", gate)

    def test_the_gates_of_a_file_count_as_well(self):
        with open(self.path("gates.txt"), "w", encoding="utf-8") as file:
            file.write("# what a change may cost\n\nstep_time<=2%\nkernel:flash.*<=3%\n")
        document = compare("--base", *self.same, "--new", *self.slower[1.08], "--gate-file", self.path("gates.txt"),
                           "--gate", "copy<=5%", code=4)
        verdicts = {gate["gate"]: gate["verdict"] for gate in document["gates"]}
        self.assertEqual(verdicts, {"copy<=5%": "holds", "step_time<=2%": "fails", "kernel:flash.*<=3%": "fails"})

    def test_an_error_in_a_gate_file_names_its_line(self):
        with open(self.path("gates.txt"), "w", encoding="utf-8") as file:
            file.write("# what a change may cost\n\nstep_time<=2%\nexposed_wait<=five\n")
        done = run("lockstep", "compare", *self.same[:2], "--gate-file", self.path("gates.txt"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "")
        self.assertIn("gates.txt, line 4", done.stderr)
        self.assertIn("'five' is no limit", done.stderr)

    def test_a_gate_does_not_flicker_over_pairs_of_identical_runs(self):
        """Every order of six runs; compare_sources_test.py has two hundred pairs more."""
        for base, new in itertools.permutations(self.same + self.again, 2):
            done = run("lockstep", "compare", base, new, "--gate", "step_time<=2%", "--gate", "compute<=2%")
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_markdown_for_a_pull_request_says_which_gate_failed(self):
        gate = ["--gate", "step_time<=2%"]
        done = run("lockstep", "compare", "--base", *self.same, "--new", *self.slower[1.08], *gate, "--format", "markdown")
        self.assertEqual(done.returncode, 4)
        self.assertLessEqual(len(done.stdout.encode()), 60_000)
        plain = done.stdout.replace("\\", "")
        self.assertRegex(plain.split("\n")[0], r"^### Slower by \d")
        self.assertIn("**fails** step_time<=2%", plain)
        self.assertEqual(plain.count("<details>"), plain.count("</details>"))


def shell_of(section, key):
    """The shell of the YAML below this heading of docs/ci.md, without its indentation."""
    with open(os.path.join(ROOT, "docs", "ci.md"), encoding="utf-8") as file:
        text = file.read().split(f"\n## {section}\n")[1].split("\n## ")[0]
    yaml = re.search(r"```yaml\n(.*?)```", text, re.S).group(1)
    lines = yaml.split(key + " |\n")[1].split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] for line in itertools.takewhile(lambda line: line.startswith(" " * indent), lines)) + "\n"


class Pipelines(Comparing):
    """The shell of docs/ci.md as its pipelines run it, with programs in place of gh and curl that keep what they were given."""

    def setUp(self):
        super().setUp()
        os.makedirs(self.path("bin"))
        for program in ("gh", "curl"):
            with open(self.path("bin", program), "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\nprintf "%s\\n" {program} "$@" >> "$SENT"\ncp comparison.md "$SENT.md"\n')
            os.chmod(self.path("bin", program), 0o755)
        for number, seed in enumerate((1, 2, 3), 1):
            self.run_of(f"traces/base/main-{number}", SMALL, seed)

    def play(self, section, key, scale, **variables):
        """Exit code, what was sent with which arguments, and the summary."""
        for number, seed in enumerate((5, 6, 7), 1):
            shutil.rmtree(self.path(f"traces/new/branch-{number}"), ignore_errors=True)
            if scale:
                self.run_of(f"traces/new/branch-{number}", SMALL, seed, "--model-scale", scale)
        for file in ("sent", "sent.md", "summary.md"):
            if os.path.exists(self.path(file)):
                os.remove(self.path(file))
        environment = {**os.environ, "PATH": os.pathsep.join([self.path("bin"), BIN, os.environ["PATH"]]), "SENT": self.path("sent"),
                       "GITHUB_STEP_SUMMARY": self.path("summary.md"), **variables}
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", shell_of(section, key)], capture_output=True, text=True, cwd=self.dir,
                              env=environment, timeout=300)
        return done, self.read("sent"), self.read("sent.md"), self.read("summary.md")

    def read(self, name):
        if not os.path.exists(self.path(name)):
            return ""
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def check(self, section, key, words, **variables):
        done, sent, comment, _ = self.play(section, key, 1, **variables)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(comment.count("- **holds** "), 2, comment)
        done, sent, comment, summary = self.play(section, key, 1.15, **variables)
        self.assertEqual((done.returncode, done.stderr), (4, ""))
        self.assertTrue(comment.startswith("### Slower by "), comment[:80])
        self.assertEqual(comment.count("**fails**"), 2)
        for word in words:
            self.assertIn(word, sent.split("\n"))
        return comment, summary

    def test_a_step_of_github_posts_the_comparison_and_fails_where_a_gate_does(self):
        words = ["gh", "pr", "comment", "17", "--body-file", "comparison.md"]
        comment, summary = self.check("GitHub Actions", "run:", words, PULL_REQUEST="17")
        self.assertEqual(summary, comment)

    def test_a_step_of_github_without_a_pull_request_has_the_summary_only(self):
        done, sent, _, summary = self.play("GitHub Actions", "run:", 1, PULL_REQUEST="")
        self.assertEqual((done.returncode, sent), (0, ""))
        self.assertEqual(summary.count("- **holds** "), 2, summary)

    def test_a_job_of_gitlab_posts_the_comparison_and_fails_where_a_gate_does(self):
        words = ["curl", "PRIVATE-TOKEN: secret", "body@comparison.md", "https://gitlab.example/api/v4/projects/3/merge_requests/17/notes"]
        self.check("GitLab", "script:\n    -", words, LOCKSTEP_BOT_TOKEN="secret", CI_MERGE_REQUEST_IID="17", CI_PROJECT_ID="3",
                   CI_API_V4_URL="https://gitlab.example/api/v4")

    def test_a_pipeline_without_new_traces_fails_and_posts_nothing(self):
        done, sent, _, summary = self.play("GitHub Actions", "run:", None, PULL_REQUEST="17")
        self.assertIn(done.returncode, (1, 2))
        self.assertIn("traces/new/*", done.stderr)
        self.assertEqual((sent, summary), ("", ""))


class BadInput(Comparing):
    def setUp(self):
        super().setUp()
        self.good = self.run_of("good", SMALL, 1)

    def refused(self, code, *args, says=()):
        """Nothing on stdout, and one or two plain sentences that hold these words."""
        done = run("lockstep", "compare", *args)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        last = done.stderr.strip().split("\n")[-1]
        self.assertTrue(last.startswith("lockstep: "), done.stderr)
        for word in says:
            self.assertIn(word, last)
        for code_word in ("INVALID_ARGUMENT", "NOT_FOUND", "std::", "json.exception", "status"):
            self.assertNotIn(code_word, done.stderr)
        return done.stderr

    def folder(self, name, **files):
        os.makedirs(self.path(name))
        for file, content in files.items():
            with open(self.path(name, file.replace("_", ".")), "w", encoding="utf-8") as opened_file:
                opened_file.write(content)
        return self.path(name)

    def test_a_folder_that_is_not_there(self):
        for pair in ((self.path("nowhere"), self.good), (self.good, self.path("nowhere"))):
            self.refused(2, *pair, says=["nowhere", "no such file or folder", "NAME@STORE"])

    def test_a_folder_without_traces(self):
        self.refused(2, self.good, self.folder("empty"), says=["empty", "holds no trace", "nsys export"])
        self.refused(2, self.folder("notes", readme_txt="hello"), self.good, says=["notes", "holds no trace"])

    def test_a_file_that_is_refused_leaves_the_others(self):
        shutil.copytree(self.good, self.path("one"))
        with open(self.path("one", "rank1.json.gz"), "wb") as file:
            file.write(b"\x1f\x8bnothing that gzip knows")
        done = run("lockstep", "compare", self.good, self.path("one"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rank1.json.gz", done.stderr)
        self.assertIn("not comparable rank by rank: the sides have 4 and 3 ranks", done.stdout)
        document = compare(self.good, self.path("one"))
        self.assertEqual(document["comparable"]["verdict"], "partly")
        self.assertGreater(len(document["kernels"]), 5)

    def test_a_file_that_is_cut_on_one_side_is_named_and_the_rest_is_compared(self):
        shutil.copytree(self.good, self.path("cut"))
        with open(self.path("cut", "rank3.json.gz"), "r+b") as file:
            file.truncate(os.path.getsize(self.path("cut", "rank3.json.gz")) // 2)
        for pair in ((self.good, self.path("cut")), (self.path("cut"), self.good)):
            done = run("lockstep", "compare", *pair)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, r"cut/rank3\.json\.gz: partial: .*cut at byte \d+")
            self.assertIn("step_time", done.stdout)
        sides = compare(self.good, self.path("cut"))
        self.assertLess(sides["new"][0]["steps"], sides["base"][0]["steps"])
        self.assertNotIn(sides["headline"]["verdict"], CHANGED)

    def without_steps(self, name):
        folder = shutil.copytree(self.good, self.path(name))
        for path in glob.glob(os.path.join(folder, "rank*.json.gz")):
            with gzip.open(path, "rt") as file:
                trace = json.load(file)
            # One kernel of each name: no step is marked, and none can be found by its rhythm.
            seen, kept = set(), []
            for event in trace["traceEvents"]:
                if event.get("cat") == "kernel" and event["name"] not in seen:
                    seen.add(event["name"])
                    kept.append(event)
            trace["traceEvents"] = kept
            with gzip.open(path, "wt") as file:
                json.dump(trace, file)
        return folder

    def test_no_steps_at_all_is_exit_2_and_the_totals_are_still_compared(self):
        lacking = self.without_steps("stepless")
        for pair, side in (((self.good, lacking), "new"), ((lacking, self.good), "base")):
            done = run("lockstep", "compare", *pair)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn(f"the {side} side has a run without steps", " ".join(done.stdout.split()))
            self.assertIn("--step-range", done.stdout)
        document = compare(lacking, lacking, code=2)
        self.assertEqual(document["comparable"]["verdict"], "no")
        self.assertEqual(document["ledger"], [])
        self.assertGreater(len(document["kernels"]), 0)  # what still can be compared: their durations
        self.assertTrue(all(row["base"]["p50_ns"] == row["new"]["p50_ns"] for row in document["kernels"]))

    def test_too_few_steps_are_no_verdict_and_say_how_many_would_do(self):
        few = ["--program", "decode", "--tp", 4, "--hosts", 1, "--layers", 4, "--steps", 6]
        base, new = self.run_of("few1", few, 1), self.run_of("few2", few, 2, "--model-scale", 2)
        document = compare(base, new, "--gate", "step_time<=2%")
        self.assertEqual(document["headline"]["verdict"], "not_enough_steps")
        self.assertEqual(metric(document, "step_time")["interval"], None)
        self.assertGreaterEqual(metric(document, "step_time")["steps_needed"], 8)
        self.assertIn("8 are needed", document["headline"]["sentence"])
        self.assertEqual([gate["verdict"] for gate in document["gates"]], ["unclear"])
        self.check_sums(document)

    def test_different_jobs_are_said_to_be_different_programs(self):
        other = ["--program", "train", "--tp", 4, "--hosts", 1, "--layers", 2, "--steps", 20]
        document = compare(self.good, self.run_of("other", other, 1))
        self.assertEqual(document["comparable"]["verdict"], "partly")
        self.assertTrue(any("different programs" in reason for reason in document["comparable"]["reasons"]))
        self.assertIn("added", {row["match"] for row in document["kernels"]})

    def test_an_unknown_metric_view_or_limit(self):
        self.refused(1, self.good, self.good, "--gate", "step<=2%", says=["there is no metric 'step'", "step_time", "kernel:REGEX"])
        self.refused(1, self.good, self.good, "--gate", "step_time<2%", says=["neither <= nor >="])
        self.refused(1, self.good, self.good, "--gate", "step_time<=2", says=["'2' is no limit", "ms"])
        self.refused(1, self.good, self.good, "--gate", "kernel:(<=2%", says=["kernel:(", "regular expression"])
        self.refused(1, self.good, self.good, "--view", "kernel", says=["no view 'kernel'", "kernels", "ledger"])
        self.refused(1, self.good, self.good, "--format", "csv", "--view", "all", says=["one view"])

    def test_a_number_of_runs_that_is_not_two(self):
        for runs in ([self.good], [self.good] * 3, []):
            self.refused(1, *runs, says=["two runs are needed", "--base", "--new"])
        self.refused(1, "--base", self.good, says=["two runs are needed"])
        self.refused(1, self.good, self.good, "--base", self.good, says=["either as BASE NEW, or with --base and --new"])
        self.refused(1, "--self", self.good, self.good, says=["--self", "no other run"])
        self.refused(1, "--self", self.good, "--new", self.good, says=["--self", "no other run"])

    def test_a_folder_of_several_runs(self):
        mixed = shutil.copytree(self.good, self.path("mixed"))
        other = self.run_of("wide", ["--program", "decode", "--tp", 8, "--hosts", 1, "--layers", 2, "--steps", 20], 2)
        shutil.copy(os.path.join(other, "rank6.json.gz"), os.path.join(mixed, "rank6.json.gz"))
        done = run("lockstep", "compare", self.good, mixed)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("different runs", done.stderr)
        self.assertIn("mixed", done.stderr)

    def test_a_context_file_that_is_none(self):
        path = os.path.join(self.good, "lockstep-context.json")
        for content, said in (("model: llama", "one JSON object"), ("[1, 2]", "one JSON object"), ('{"model": {"name": "x"}}', "'model'"),
                              ('{"batch": null}', "'batch'")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
            self.refused(1, self.good, self.good, says=["lockstep-context.json", said])
        os.remove(path)
        self.refused(1, self.good, self.good, "--context", "model", says=["--context 'model'", "KEY=VALUE"])

    def test_a_kernel_map_or_a_gate_file_that_is_none(self):
        self.refused(1, self.good, self.good, "--kernel-map", self.path("nowhere.txt"), says=["nowhere.txt"])
        self.refused(1, self.good, self.good, "--gate-file", self.path("nowhere.txt"), says=["nowhere.txt"])
        path = os.path.join(self.folder("maps", map_txt="# renamed\nold_kernel new_kernel\n"), "map.txt")
        self.refused(1, self.good, self.good, "--kernel-map", path, says=["map.txt", "line 2", "' = '"])

    def test_a_store_or_an_aggregator_that_is_not_there(self):
        self.refused(2, "a", "b", "--store", self.path("none.db"), says=["none.db", "no such store"])
        self.refused(2, "a@" + self.path("none.db"), self.good, says=["none.db"])
        self.refused(2, "a", "b", "--aggregator", "127.0.0.1:1", says=["127.0.0.1:1"])
        run("lockstep", "analyze", self.good, "--store", self.path("runs.db"), "--run", "r")
        self.refused(2, "r", "s", "--store", self.path("runs.db"), says=["no run 's'", "lockstep runs"])
        # Named like a folder beside it: the traces may have been meant. (Tests run in the root of the project.)
        self.refused(2, "r", "tests", "--store", self.path("runs.db"), says=["no run 'tests'", "write ./tests"])

    def test_an_output_that_cannot_be_written(self):
        self.refused(2, self.good, self.good, "--output", self.path("no", "such", "folder.txt"), says=["folder.txt"])


if __name__ == "__main__":
    unittest.main()
