"""The command line as a person meets it: verbs, help, what is refused and why, the width of the terminal, and what an
unfinished command leaves behind."""
import fcntl
import json
import os
import pty
import re
import sqlite3
import struct
import subprocess
import termios
import unittest

from support import BIN, ROOT, TempDirTest, analyze, run, simulate

PROGRAM = ["--program", "decode", "--tp", 8, "--layers", 2, "--steps", 24]
PROGRAMS = ("lockstep", "lockstep-agent", "lockstep-aggregator", "lockstep-simulate")
VERBS = ("analyze", "show", "runs", "schema")
ESCAPE = "\x1b"


def plain_environment(**changes):
    without = ("COLUMNS", "NO_COLOR", "TERM")
    return {**{key: value for key, value in os.environ.items() if key not in without}, **changes}


def on_terminal(columns, *args, **environment):
    """What the program writes to a terminal that is so wide. Progress is cleared before the answer, and is left out here:
    whether there is any depends on how long the work takes."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    child = subprocess.Popen([os.path.join(BIN, "lockstep"), *map(str, args)], stdout=theirs, stderr=theirs, cwd=ROOT,
                             env=plain_environment(**{"TERM": "xterm", **environment}))
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the child has closed its side
            break
        if not part:
            break
        text += part
    os.close(ours)
    assert child.wait(60) == 0, text
    return text.decode().replace("\r\n", "\n").split("\r" + ESCAPE + "[K")[-1]


def widest(text):
    return max(len(line) for line in re.sub(ESCAPE + r"\[[0-9;]*m", "", text).split("\n"))


class Verbs(unittest.TestCase):
    def refused(self, *args):
        done = run(*args)
        self.assertEqual((done.returncode, done.stdout), (1, ""), args)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def test_an_unknown_verb_is_named_with_the_one_that_was_meant(self):
        self.assertEqual(self.refused("lockstep", "analyse", "traces"),
                         "lockstep: there is no verb 'analyse'; did you mean 'analyze'? See `lockstep --help`\n")
        self.assertIn("there is no verb 'bogus'; the verbs are analyze,", self.refused("lockstep", "bogus"))

    def test_every_error_of_the_parser_names_the_program_and_how_to_get_help(self):
        for args in (["lockstep"], ["lockstep", "analyze"], ["lockstep", "analyze", "x", "--no-such"], ["lockstep", "analyze", "x", "--format", "xml"],
                     ["lockstep", "show"], ["lockstep", "runs", "--store"], ["lockstep-agent"], ["lockstep-aggregator", "--max-runs", "0"],
                     ["lockstep-simulate", "--steps", "many"]):
            with self.subTest(args):
                told = self.refused(*args)
                self.assertTrue(told.startswith(args[0] + ": "), told)
                verb = f" {args[1]}" if args[0] == "lockstep" and len(args) > 1 else ""
                self.assertRegex(told, rf"(; see|\? See) `{args[0]}{verb} --help`\n$")

    def test_help_is_a_verb_too(self):
        self.assertEqual(run("lockstep", "help").stdout, run("lockstep", "--help").stdout)
        for verb in VERBS:
            done = run("lockstep", "help", verb)
            self.assertEqual((done.returncode, done.stdout), (0, run("lockstep", verb, "--help").stdout))


class Help(unittest.TestCase):
    def texts(self):
        for program in PROGRAMS:
            yield program, run(program, "--help").stdout
        for verb in VERBS:
            yield verb, run("lockstep", verb, "--help").stdout

    def test_it_fits_the_narrowest_terminal(self):
        for name in PROGRAMS:
            done = run(name, "--help", env=plain_environment(COLUMNS="80"))
            self.assertLessEqual(widest(done.stdout), 80, name)
        for name in VERBS:
            self.assertLessEqual(widest(on_terminal(80, name, "--help")), 80, name)

    def test_it_has_examples_of_its_own_and_no_types_of_the_program(self):
        examples = {}
        for name, text in self.texts():
            with self.subTest(name):
                for internal in ("INT:", "UINT", "TEXT", "in [", "1099511627776", ":{"):
                    self.assertNotIn(internal, text)
                examples[name] = text.split("Examples:\n")[1].split("\n\n")[0]
                self.assertIn(name, examples[name])
        self.assertEqual(len(set(examples.values())), len(examples))

    def test_runs_names_all_that_it_does(self):
        text = run("lockstep", "runs", "--help").stdout
        for word in ("List", "complete", "remove"):
            self.assertIn(word, text.split("\n\n")[0])

    def test_each_cause_has_a_line_and_an_explanation(self):
        text = run("lockstep-simulate", "--help").stdout
        for cause in ("slow_gpu:rank=,factor=", "late_host:rank=,host=,us=,p=", "uneven_traffic:rank=,factor="):
            self.assertRegex(text, rf"(?m)^  {re.escape(cause)} *(\n {{36}}\S|\S)")


class Terminal(TempDirTest):
    def setUp(self):
        super().setUp()
        self.traces = simulate(self.path("traces"), *PROGRAM)

    def test_text_uses_the_width_of_the_terminal(self):
        ask = ("analyze", self.traces, "--view", "all")
        narrow, wide, huge = (on_terminal(columns, *ask) for columns in (80, 160, 500))
        self.assertLessEqual(widest(narrow), 80)
        self.assertGreater(widest(wide), 80)
        self.assertLessEqual(widest(wide), 160)
        self.assertLessEqual(widest(huge), 200)
        self.assertEqual(on_terminal(40, *ask), narrow)
        self.assertEqual(on_terminal(80, *ask, COLUMNS="160"), wide)

    def test_without_a_terminal_it_is_a_hundred_columns_wide_or_as_the_variable_says(self):
        plain = run("lockstep", "analyze", self.traces, "--view", "all", env=plain_environment(TERM="xterm")).stdout
        self.assertLessEqual(widest(plain), 100)
        self.assertNotIn(ESCAPE, plain)
        narrow = run("lockstep", "analyze", self.traces, "--view", "all", env=plain_environment(COLUMNS="80")).stdout
        self.assertLessEqual(widest(narrow), 80)
        self.assertNotEqual(plain, narrow)

    def test_colors_are_for_terminals_that_know_them(self):
        ask = ("analyze", self.traces)
        self.assertIn(ESCAPE, on_terminal(100, *ask))
        self.assertNotIn(ESCAPE, on_terminal(100, *ask, TERM="dumb"))
        self.assertNotIn(ESCAPE, on_terminal(100, *ask, NO_COLOR="1"))
        self.assertIn(ESCAPE, on_terminal(100, *ask, "--color", "always", TERM="dumb"))

    def test_progress_leaves_nothing_behind(self):
        self.assertTrue(on_terminal(100, "analyze", self.traces, "--color", "never").startswith("run traces:"))


class Refusals(TempDirTest):
    def setUp(self):
        super().setUp()
        self.traces = simulate(self.path("traces"), *PROGRAM)

    def refused(self, *args):
        done = run("lockstep", *args)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        return done.stderr

    def test_a_selection_of_nothing_says_what_there_is(self):
        self.assertIn("lockstep: no step is in 100..200; the traces have steps 0 to 23\n", self.refused("analyze", self.traces, "--steps", "100..200"))
        self.assertIn("lockstep: there is no step 24; the traces have steps 0 to 23\n", self.refused("analyze", self.traces, "--steps", "24"))
        self.assertIn("lockstep: no range 'nothing' launched anything; --view nvtx lists", self.refused("analyze", self.traces, "--nvtx", "nothing"))
        self.assertIn("it has ranks 0-7", self.refused("analyze", self.traces, "--ranks", "9,11"))

    def test_a_layout_that_does_not_fit_says_how_many_ranks_there_are(self):
        self.assertIn("lockstep: --layout 'tp=3': its axes make 3 ranks, but the run has 8\n", self.refused("analyze", self.traces, "--layout", "tp=3"))
        self.assertEqual(analyze(self.traces, "--layout", "tp=4,pp=2", "--view", "summary")["run"]["layout"]["tp"], 4)

    def test_a_stored_run_answers_alike(self):
        store = self.path("runs.db")
        analyze(self.traces, "--store", store, "--run", "r", "--view", "ranks")
        show = ("show", "r", "--store", store)
        self.assertIn("the traces have steps 0 to 23", self.refused(*show, "--steps", "100..200"))
        self.assertIn("but the run has 8", self.refused(*show, "--layout", "tp=3"))
        done = run("lockstep", *show, "--nvtx", "nothing", "--view", "steps", "--format", "json")  # it keeps no other ranges
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no range 'nothing' launched anything", done.stdout)

    def test_an_unknown_view_is_named_with_the_one_that_was_meant(self):
        self.assertIn("there is no view 'kernel'; did you mean 'kernels'?", self.refused("analyze", self.traces, "--view", "kernel"))


class Inputs(TempDirTest):
    def test_an_empty_folder_is_named(self):
        os.mkdir(self.path("empty"))
        done = run("lockstep", "analyze", self.path("empty"))
        self.assertEqual(done.returncode, 2)
        self.assertTrue(done.stderr.startswith(f"lockstep: {self.path('empty')} holds no trace: there is no file in it"), done.stderr)

    def test_a_simulated_folder_is_no_reason_for_warnings(self):
        traces = simulate(self.path("traces"), *PROGRAM)
        done = run("lockstep", "analyze", traces)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_failed_command_leaves_no_new_run_in_the_store(self):
        store = self.path("runs.db")
        os.mkdir(self.path("empty"))
        one, other = (simulate(self.path("both", name), "--tp", tp, "--layers", 2, "--steps", 3, "--seed", tp) for name, tp in (("one", 2), ("other", 4)))
        for path in (self.path("empty"), self.path("both")):
            self.assertEqual(run("lockstep", "analyze", path, "--store", store, "--run", "r").returncode, 2)
            self.assertEqual(self.runs(store), [], path)
        analyze(one, "--store", store, "--run", "r", "--view", "ranks")
        self.assertEqual(run("lockstep", "analyze", other, "--store", store, "--run", "r").returncode, 2)
        self.assertEqual(self.runs(store), ["r"], "it was there before")

    def test_a_wrong_question_does_not_cost_what_was_read(self):
        store = self.path("runs.db")
        traces = simulate(self.path("traces"), *PROGRAM)
        done = run("lockstep", "analyze", traces, "--store", store, "--run", "r", "--steps", "100..200")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.runs(store), ["r"])

    def runs(self, store):
        listed = json.loads(run("lockstep", "runs", "--store", store, "--format", "json").stdout)
        with sqlite3.connect(store) as db:
            self.assertEqual([name for (name,) in db.execute("SELECT name FROM run ORDER BY name")], [entry["name"] for entry in listed["runs"]])
        return [entry["name"] for entry in listed["runs"]]


if __name__ == "__main__":
    unittest.main()
