"""Simulated clusters whose truth is known: every form of trace gives the same answers, equal to the truth."""
import csv
import gzip
import json
import unittest

from support import TempDirTest, analyze, run, simulate

EIGHT = ["--program", "decode", "--tp", 8, "--hosts", 1, "--gpus-per-host", 8, "--layers", 4, "--steps", 6]
SIXTY_FOUR = ["--program", "train", "--tp", 8, "--dp", 8, "--hosts", 8, "--gpus-per-host", 8, "--layers", 3, "--steps", 4]
LATE = ["--cause", "late_host:rank=3,us=60,p=0.3"]
VIEWS = "collectives,skew,overlap,kernels,steps"


def without_group_names(report):
    """A process group's name is known to Kineto only; everything else must agree."""
    for row in report["collectives"]:
        row["communicator"]["name"] = row["communicator"]["desc"] = None
    return {view: report[view] for view in VIEWS.split(",")}


def truth_of(folder):
    with open(folder + "/truth.json", encoding="utf-8") as file:
        truth = json.load(file)
    instances = {}
    with gzip.open(folder + "/instances.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            members = instances.setdefault((row["communicator_id"], int(row["index"])), {})
            members[int(row["rank"])] = (int(row["true_start_ns"]), int(row["true_end_ns"]))
    domains = {rank["rank"]: rank["domain"] for rank in truth["ranks"]}
    return instances, domains


class SimulatedRuns(TempDirTest):
    def check_against_truth(self, folder, report):
        instances, domains = truth_of(folder)
        self.assertEqual(len(report["skew"]["instances"]), len(instances))
        checked = 0
        for instance in report["skew"]["instances"]:
            members = instances[(instance["communicator_id"], instance["index"])]
            starts = {rank: start for rank, (start, _) in members.items()}
            if len({domains[rank] for rank in members}) > 1:
                self.assertFalse(instance["resolvable"])
                self.assertIsNone(instance["uncertainty_ns"])
                continue
            last = max(starts.values())
            self.assertEqual(instance["spread_ns"], last - min(starts.values()))
            self.assertEqual(instance["last_rank"], max(starts, key=lambda rank: (starts[rank], -rank)))
            for member in instance["members"]:
                start, end = members[member["rank"]]
                self.assertEqual(member["wait_ns"], min(last, end) - start)
            checked += 1
        self.assertGreater(checked, 40)

    def check_forms(self, program):
        reports = []
        for form in ("kineto", "nsys", "mixed"):
            folder = simulate(self.path(form), *program, *LATE, "--ids", "groups", "--format", form)
            report = analyze(folder, "--run", "r", "--view", VIEWS, "--instances=all")
            self.assertEqual({row["match"] for row in report["collectives"]}, {"order"})
            self.check_against_truth(folder, report)
            reports.append(without_group_names(report))
        self.assertEqual(reports[0], reports[1])
        self.assertEqual(reports[0], reports[2])

    def test_eight_ranks_give_the_truth_in_every_form(self):
        self.check_forms(EIGHT)

    def test_sixty_four_ranks_on_eight_hosts_give_the_truth_in_every_form(self):
        self.check_forms(SIXTY_FOUR)

    def test_with_full_ids_instances_are_joined_by_id(self):
        for form in ("kineto", "nsys"):
            folder = simulate(self.path(form), *EIGHT, "--ids", "full", "--format", form)
            report = analyze(folder, "--view", "collectives,skew", "--instances=all")
            self.assertEqual({row["match"] for row in report["collectives"]}, {"id"}, form)
            self.check_against_truth(folder, report)

    def test_kernel_names_alone_are_ambiguous(self):
        for name, program in (("8", EIGHT), ("64", SIXTY_FOUR)):
            for form in ("kineto", "nsys", "mixed"):
                folder = simulate(self.path(name + form), *program, "--ids", "names", "--format", form)
                report = analyze(folder, "--view", "collectives,skew", "--instances=all")
                self.assertEqual({row["match"] for row in report["collectives"]}, {"ambiguous"})
                self.assertEqual(report["skew"]["instances"], [])

    def test_the_late_rank_is_named_and_without_it_waiting_is_small(self):
        late = analyze(simulate(self.path("late"), *EIGHT, *LATE))["summary"]
        self.assertEqual([c["id"] for c in late["culprits"]][:1], ["3"])
        self.assertEqual(late["verdict"], "skew")
        self.assertGreater(late["time_share"]["exposed_wait_ratio"], 0.3)
        healthy = analyze(simulate(self.path("healthy"), *EIGHT))["summary"]
        self.assertNotEqual(healthy["verdict"], "skew")
        self.assertLess(healthy["time_share"]["exposed_wait_ratio"], 0.1)

    def test_the_order_of_files_and_the_number_of_jobs_change_no_byte(self):
        folder = simulate(self.path("run"), *EIGHT, *LATE)
        files = [f"{folder}/rank{rank}.json.gz" for rank in range(8)]
        outputs = {
            run("lockstep", "analyze", *order, "--run", "r", "--jobs", jobs, "--view", "all", "--instances=all", "--format",
                "json").stdout
            for jobs in (1, 4)
            for order in (files, files[::-1], files[3:] + files[:3])
        }
        self.assertEqual(len(outputs), 1)

    def test_a_stored_run_shows_what_analyze_showed(self):
        folder = simulate(self.path("run"), *EIGHT, *LATE)
        views = ["--view", "all", "--instances=all", "--format", "json"]
        first = run("lockstep", "analyze", folder, "--run", "r", "--store", self.path("runs.db"), *views)
        again = run("lockstep", "show", "r", "--store", self.path("runs.db"), *views)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(first.stdout, again.stdout)
        listed = run("lockstep", "runs", "--store", self.path("runs.db"))
        self.assertIn("analysed", listed.stdout)


if __name__ == "__main__":
    unittest.main()
