"""Laws of the numbers within one document. Each law takes an Answer and yields what breaks it; each holds for every run."""
import math

from one_answer import STRAGGLER_KINDS

SHARES = ("compute_ratio", "exposed_wait_ratio", "exposed_transfer_ratio", "exposed_unresolved_ratio", "copy_ratio", "opaque_ratio",
          "idle_ratio")
PARTS = ("exposed_wait_ns", "exposed_transfer_ns", "exposed_unresolved_ns")
OWN_PARTS = ("compute_ns", "exposed_comm_ns", "copy_only_ns", "opaque_only_ns", "idle_ns")


def most_confidence(p):
    """That it is no chance, if chance was as likely as not before (Sellke, Bayarri, Berger 2001)."""
    return 1 if p <= 0 else 0.5 if p >= 1 / math.e else 1 / (1 - math.e * p * math.log(p))


def total(rows, *fields):
    return sum(row[field] or 0 for row in rows for field in fields)


def close(a, b, tolerance=1e-6):
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def the_shares_of_the_time_sum_to_one(a):
    share = a.summary["time_share"]
    values = [share[name] for name in SHARES]
    if all(value is None for value in values):
        return
    if not close(sum(values), 1):
        yield f"time_share sums to {sum(values)}"
    if min(values) < 0:
        yield f"negative share in {share}"


def the_parts_of_each_rank_and_step_sum_to_its_time(a):
    for view in ("overlap", "steps"):
        for row in a.view(view):
            who = f"{view} of rank {row['rank']}" + (f" step {row['step']}" if view == "steps" else "")
            if total([row], *OWN_PARTS) != row["span_ns"]:
                yield f"{who}: parts {total([row], *OWN_PARTS)} of {row['span_ns']}"
            if total([row], *PARTS) != row["exposed_comm_ns"]:
                yield f"{who}: exposed parts {total([row], *PARTS)} of {row['exposed_comm_ns']}"
    idle = {row["rank"]: row["idle_ns"] for row in a.view("idle")}
    for row in a.view("overlap"):
        if row["overlap_ns"] is not None and row["overlap_ns"] + row["exposed_comm_ns"] != row["comm_ns"]:
            yield f"rank {row['rank']}: overlap + exposed is not comm"
        if idle.get(row["rank"]) != row["idle_ns"]:
            yield f"rank {row['rank']}: idle {idle.get(row['rank'])} in idle, {row['idle_ns']} in overlap"


def the_shares_are_those_of_the_views_over_the_same_window(a):
    """The block of the summary, `imbalance` and `overlap` divide one time; the window of the ranks in common lies inside the spans."""
    share = a.summary["time_share"]
    if share["compute_ratio"] is None:
        return
    sums = {row["quantity"]: sum(it["value"] for it in row["per_rank"]) for row in a.view("imbalance")["quantities"] if row["over"] == "window"}
    names = {"compute": "compute_ratio", "exposed_wait": "exposed_wait_ratio", "exposed_transfer": "exposed_transfer_ratio",
             "idle": "idle_ratio"}
    largest = max(names, key=lambda name: share[names[name]])
    if largest not in sums or share[names[largest]] <= 0:
        return
    whole = sums[largest] / share[names[largest]]
    for name, ratio in names.items():
        if name in sums and not close(sums[name] / whole, share[ratio], 1e-4):
            yield f"{name}: {sums[name] / whole:.4f} of imbalance's window, {share[ratio]:.4f} in the block"
    overlap = {"compute": ("compute_ns",), "exposed_wait": ("exposed_wait_ns",), "idle": ("idle_ns",)}
    for name, fields in overlap.items():
        if name in sums and sums[name] > total(a.view("overlap"), *fields) * (1 + 1e-9) + 1:
            yield f"{name}: {sums[name]} in the common window, but {total(a.view('overlap'), *fields)} in all"


def the_block_is_overlap_where_the_window_is_the_whole(a):
    share, rows = a.summary["time_share"], a.view("overlap")
    spans = total(rows, "span_ns")
    if share["compute_ratio"] is None or not spans or any(row["span_ns"] > 1.001 * a.summary["window"]["span_ns"] for row in rows):
        return
    fields = dict(zip(SHARES, ("compute_ns", *PARTS, "copy_only_ns", "opaque_only_ns", "idle_ns")))
    for name, field in fields.items():
        if abs(share[name] - total(rows, field) / spans) > 0.003:
            yield f"{name}: {share[name]:.4f} in the block, {total(rows, field) / spans:.4f} of overlap"


def the_rank_time_is_that_of_overlap(a):
    spans = total(a.view("overlap"), "span_ns")
    if a.summary["rank_time_ns"] != spans:
        yield f"rank_time_ns {a.summary['rank_time_ns']}, spans of overlap {spans}"


def there_is_one_total_of_all_waiting(a):
    skew, wait = a.view("skew"), a.summary["wait_total_ns"]
    of = {"skew.ranks": total(skew["ranks"], "wait_total_ns"),
          "caused + unassigned": total(skew["ranks"], "caused_wait_total_ns") + skew["unassigned_wait_ns"],
          "collectives": total(a.view("collectives"), "wait_total_ns")}
    for name, value in of.items():
        if value != wait:
            yield f"summary {wait}, {name} {value}"
    if skew["unassigned_wait_ns"] != a.summary["unassigned_wait_ns"]:
        yield f"unassigned {a.summary['unassigned_wait_ns']} in summary, {skew['unassigned_wait_ns']} in skew"
    if a.summary["certain_wait_ns"] > wait:
        yield f"certain_wait_ns {a.summary['certain_wait_ns']} of {wait}"
    if a.summary["pair_wait_total_ns"] > wait:
        yield f"pair_wait_total_ns {a.summary['pair_wait_total_ns']} of {wait}"
    if total(skew["steps"], "wait_total_ns") > wait:
        yield f"skew.steps {total(skew['steps'], 'wait_total_ns')} of {wait}"


def exposed_waiting_is_a_part_of_all_waiting(a):
    waited = {row["rank"]: row["wait_total_ns"] for row in a.view("skew")["ranks"]}
    for row in a.view("overlap"):
        if row["exposed_wait_ns"] > waited.get(row["rank"], 0) + 1000:
            yield f"rank {row['rank']}: {row['exposed_wait_ns']} ns of exposed waiting, {waited.get(row['rank'], 0)} ns of waiting"


def the_rows_of_skew_agree_with_themselves(a):
    for row in a.view("skew")["ranks"]:
        if row["last_arrivals"] > row["instances"]:
            yield f"rank {row['rank']} was last {row['last_arrivals']} times in {row['instances']}"
        mean, count = row["wait_ns"]["mean"], row["wait_ns"]["count"]
        if count and not close(mean * count, row["wait_total_ns"], 1e-6):
            yield f"rank {row['rank']}: mean wait x count is not its total"
    for step in a.view("skew")["steps"]:
        if step["worst_rank"] is not None and step["worst_caused_wait_ns"] > step["wait_total_ns"]:
            yield f"step {step['step']}: rank {step['worst_rank']} caused more than all waiting"


def distributions_are_in_order(a):
    def visit(value, path):
        if isinstance(value, dict):
            if "p50" in value and "mean" in value and value["max"] is not None:
                order = [value[name] for name in ("min", "p50", "p90", "p95", "p99", "p999", "max") if value[name] is not None]
                if any(x > y * (1 + 1e-12) if y >= 0 else x > y * (1 - 1e-12) for x, y in zip(order, order[1:])):
                    yield f"{path}: {order}"
                slack = 1e-9 * max(abs(value["min"]), abs(value["max"]))
                if not value["min"] - slack <= value["mean"] <= value["max"] + slack:
                    yield f"{path}: mean {value['mean']} of {value['min']} to {value['max']}"
            for name, part in value.items():
                yield from visit(part, f"{path}.{name}")
        elif isinstance(value, list):
            for index, part in enumerate(value):
                yield from visit(part, f"{path}[{index}]")
    yield from visit(a.report, "")


def the_worst_rows_are_those_of_their_views(a):
    rows = [(row["communicator"]["communicator_id"], row["op"], row["bytes"], row["wait_total_ns"], row["verdict"])
            for row in a.view("collectives") if row["wait_total_ns"]]
    worst = [(row["communicator_id"], row["op"], row["bytes"], row["wait_total_ns"], row["verdict"]) for row in a.summary["worst_collectives"]]
    if worst != rows[:5]:
        yield f"worst_collectives {worst} of {rows[:5]}"
    tails = [(row["name"], row["tail_score"]) for row in a.view("tails")][:5]
    if [(row["name"], row["tail_score"]) for row in a.summary["worst_tails"]] != tails:
        yield "worst_tails are not the first rows of tails"


def a_culprit_causes_a_part_of_the_waiting(a):
    wait = a.summary["wait_total_ns"]
    for culprit in a.culprits:
        who, caused, share = f"{culprit['scope']} {culprit['id']}", culprit["caused_wait_total_ns"], culprit["share_of_wait_ratio"]
        if caused > wait:
            yield f"{who} caused {caused} of {wait}"
        if wait and not close(caused / wait, share, 1e-6):
            yield f"{who}: share {share:.4f}, but {caused} of {wait} is {caused / wait:.4f}"
    disjoint, seen = 0.0, set()
    for culprit in a.culprits:
        if culprit["cause"] != "transfer" and not seen & set(culprit["ranks"]):
            disjoint += culprit["share_of_wait_ratio"]
            seen |= set(culprit["ranks"])
    if disjoint > 1 + 1e-6:
        yield f"the shares of the culprits sum to {disjoint:.3f}"


def a_culprit_is_where_the_ranks_are(a):
    ranks = {row["rank"]: row for row in a.view("ranks")}
    for culprit in a.culprits:
        who = f"{culprit['scope']} {culprit['id']}"
        if not set(culprit["ranks"]) <= a.present or not culprit["ranks"]:
            yield f"{who} is of ranks {culprit['ranks']} of {sorted(a.present)}"
        if culprit["scope"] == "rank":
            row = ranks[culprit["rank"]]
            if culprit["ranks"] != [culprit["rank"]] or str(culprit["rank"]) != culprit["id"]:
                yield f"{who} has rank {culprit['rank']} and ranks {culprit['ranks']}"
            for field in ("host", "path", "device", "rank_source", "gpu_uuid"):
                if row[field] != culprit[field]:
                    yield f"{who}: {field} {culprit[field]}, in ranks {row[field]}"
        if culprit["scope"] == "host" and any(ranks[rank]["host"] != culprit["id"] for rank in culprit["ranks"]):
            yield f"{who}: its ranks are on other hosts"


def culprits_and_stragglers_agree(a):
    rows = {(row["scope"], row["id"]): row for row in a.view("stragglers")}
    for culprit in a.culprits:
        who, row = f"{culprit['scope']} {culprit['id']}", rows.get((culprit["scope"], culprit["id"]))
        if culprit["recurrence"] not in STRAGGLER_KINDS:
            if row is not None:
                yield f"{who} is a straggler, but its recurrence is {culprit['recurrence']}"
            continue
        if row is None:
            yield f"{who} is {culprit['recurrence']}, but not in stragglers"
            continue
        pairs = [("recurrence", "kind"), ("saving_after_others_ratio",) * 2, ("persistence",) * 2, ("period_steps",) * 2, ("steps",) * 2,
                 ("frontier",) * 2, ("blamed_critical_ns",) * 2, ("ranks",) * 2]
        if not culprit["open"]:
            pairs += [("saving_ratio",) * 2, ("saving_reason",) * 2]
        for of_culprit, of_row in pairs:
            if culprit[of_culprit] != row[of_row]:
                yield f"{who}: {of_culprit} {culprit[of_culprit]}, in stragglers {row[of_row]}"
        if row["confidence"] != culprit["confidence"]:
            yield f"{who}: confidence {culprit['confidence']}, in stragglers {row['confidence']}"
        if culprit["confidence"] > most_confidence(row["p_adjusted"]) + 1e-9:
            yield f"{who}: confidence {culprit['confidence']} with p {row['p_adjusted']}"
        if row["parts"] and culprit["cause"] != row["parts"][0]["cause"] and (culprit["cause"], row["parts"][0]["cause"]) != (None, "unknown"):
            yield f"{who}: cause {culprit['cause']}, in stragglers {row['parts'][0]['cause']}"
        if row["blamed_wait_ns"] is not None and row["blamed_wait_ns"] != culprit["caused_wait_total_ns"]:
            yield f"{who}: the others lost {culprit['caused_wait_total_ns']} to it, in stragglers {row['blamed_wait_ns']}"
    named = {(culprit["scope"], culprit["id"]) for culprit in a.culprits}
    for place, key in enumerate(rows):
        if key not in named and len(a.culprits) < 3:
            yield f"{' '.join(key)} is straggler {place + 1}, but no culprit ({len(named)} named)"


def a_saving_lies_in_its_interval(a):
    for culprit in a.culprits:
        who = f"{culprit['scope']} {culprit['id']}"
        if culprit["saving_ratio"] is None:
            if culprit["saving_interval_ratio"] is not None:
                yield f"{who}: an interval without a saving"
            continue
        low, high = culprit["saving_interval_ratio"]
        if not 0 <= low <= culprit["saving_ratio"] <= high <= 1:
            yield f"{who}: saving {culprit['saving_ratio']} in {low} to {high}"
    for row in a.view("stragglers"):
        who = f"straggler {row['scope']} {row['id']}"
        low, high = row["confidence_interval_ns"]
        if not low <= row["effect_ns_per_step"] <= high:
            yield f"{who}: late by {row['effect_ns_per_step']} in {low} to {high}"
        if row["saving_ns_per_step"] is None:
            continue
        low, high = row["saving_bound_ns"]
        if not low <= row["saving_ns_per_step"] <= high:
            yield f"{who}: saving {row['saving_ns_per_step']} in {low} to {high}"
        step = a.summary["step_ns"]
        if row["saving_ratio"] > 0 and step is not None and not any("blocks" in it["reason"] or "a block of" in it["reason"] for it in a.view("notices")):
            implied = row["saving_ns_per_step"] / row["saving_ratio"]
            if not 0.7 * step["min"] <= implied <= 1.3 * step["max"]:
                yield f"{who}: its saving implies steps of {implied:.0f} ns, the steps take {step['min']} to {step['max']}"


def a_saving_is_no_more_than_what_the_others_wait(a):
    """A rank as fast as its peers makes each of those that meet it wait less by what the step gets shorter, as far as that is known."""
    rank_time, count = a.summary["rank_time_ns"], len(a.present)
    groups = [set(row["members"]) & a.present for row in a.view("collectives")]
    if count < 2 or not rank_time or not all(groups):
        return
    unresolved = total(a.view("overlap"), "exposed_unresolved_ns")
    for culprit in a.culprits:
        if culprit["saving_ratio"] is None or culprit["cause"] == "transfer" or not culprit["caused_wait_total_ns"]:
            continue
        ranks = set(culprit["ranks"])
        others = set().union(*(group for group in groups if group & ranks)) - ranks
        needed = culprit["saving_ratio"] * rank_time / count * len(others)
        if needed > 1.3 * (a.summary["wait_total_ns"] + unresolved) + 0.005 * rank_time:
            yield f"{culprit['scope']} {culprit['id']}: saves {needed:.0f} ns of the others' time, of {a.summary['wait_total_ns']} ns of waiting"


def clock_groups(a):
    """The sets of ranks whose clocks are aligned with each other."""
    host_of = {row["rank"]: row["host"] for row in a.view("ranks")}
    return [{rank for rank, host in host_of.items() if host in group["hosts"]} for group in a.view("clock")["components"]]


def time_of_step(number, whole, groups):
    """From when the last rank begins a step to when the last rank begins the next, of the groups of ranks the longest.

    The first step of a row is as long as its longest rank has it. `whole`: of each step that all ranks have, begin and span by rank."""
    longest = max(span for _, span in whole[number].values())
    if number - 1 not in whole:
        return longest
    times = []
    for group in groups:
        begin, end = (max((whole[step][rank][0] + add * whole[step][rank][1] for rank in group if rank in whole[step]), default=None)
                      for step, add in ((number, 0), (number + 1, 0) if number + 1 in whole else (number, 1)))
        if begin is not None:
            times.append(end - begin)
    return max(times) if times and max(times) > 0 else longest


def the_step_time_is_that_of_the_steps(a):
    step, rows = a.summary["step_ns"], a.view("steps")
    if step is None:
        if rows:
            yield f"{len(rows)} steps, but no step time"
        return
    last = {row["rank"]: row["start_ns"] for row in sorted(rows, key=lambda row: row["start_ns"])}
    by_step = {}
    for row in rows:
        span = row["span_ns"]
        if row["start_ns"] == last[row["rank"]] and row["last_end_ns"] is not None and row["last_end_ns"] > row["start_ns"]:
            span = min(span, row["last_end_ns"] - row["start_ns"])  # no step follows that would end it
        ranks = by_step.setdefault(row["step"], {})
        if span > ranks.get(row["rank"], (0, 0))[1]:
            ranks[row["rank"]] = row["start_ns"], span
    ranks = {row["rank"] for row in rows}
    whole = {number: times for number, times in by_step.items() if set(times) == ranks}
    own = [span for times in by_step.values() for _, span in times.values()]
    common = [time_of_step(number, whole, clock_groups(a)) for number in whole]
    # The view has times on the aligned clock, which may run a little faster than the rank's own.
    near = 1e-4
    for spans in (common, own):
        if len(spans) == step["count"] and spans and close(max(spans), step["max"], near) and close(min(spans), step["min"], near):
            return
    shown = {name: step[name] for name in ("count", "min", "max")}
    yield f"step time {shown}; steps: common {len(common)}, {min(common, default=0)} to {max(common, default=0)}; own {len(own)}, to {max(own)}"


def failed_gates_are_the_problems(a):
    gates = {gate["name"]: gate for gate in a.view("quality")["gates"]}
    failed = [name for name, gate in gates.items() if gate["ok"] is False]
    problems = a.summary["problems"]
    if len(problems) != min(3, len(failed)):
        yield f"{len(failed)} gates fail, {len(problems)} problems are listed"
    for problem in problems:
        gate = gates.get(problem["gate"])
        if gate is None or gate["ok"] is not False or (gate["detail"], gate["fix"]) != (problem["detail"], problem["fix"]):
            yield f"problem {problem['gate']} is not the gate's"
    if a.strict_exit != (3 if failed else 0):
        yield f"--strict exits with {a.strict_exit}, {failed} fail"


def doubt_is_doubt_everywhere(a):
    for culprit in a.culprits:
        who = f"{culprit['scope']} {culprit['id']}"
        for why, doubted in (("unresolved time leads", a.leads), ("it is open", culprit["open"]), ("durations disagree", culprit["frontier"] == "disagrees")):
            if doubted and culprit["confidence"] > 0.5:
                yield f"{who}: confidence {culprit['confidence']}, but {why}"
    gates = {gate["name"]: gate["ok"] for gate in a.view("quality")["gates"]}
    for gate in ("duplicate_rank", "waiting_told"):
        if gates.get(gate) is False and a.certain:
            yield f"{a.certain[0]['scope']} {a.certain[0]['id']} is certain, but gate {gate} fails"
    for problem in a.summary["problems"]:
        if a.certain and "cannot be determined who waits for whom" in problem["fix"]:
            yield f"{a.certain[0]['scope']} {a.certain[0]['id']} is certain, but {problem['gate']}: {problem['fix']}"
    missing = a.report["run"]["missing_ranks"]
    if gates.get("complete_ranks") is True and missing:
        yield f"ranks {missing} are missing, but complete_ranks passes"


LAWS = [the_shares_of_the_time_sum_to_one, the_parts_of_each_rank_and_step_sum_to_its_time,
        the_shares_are_those_of_the_views_over_the_same_window,
        the_block_is_overlap_where_the_window_is_the_whole, the_rank_time_is_that_of_overlap, there_is_one_total_of_all_waiting,
        exposed_waiting_is_a_part_of_all_waiting, the_rows_of_skew_agree_with_themselves, distributions_are_in_order,
        the_worst_rows_are_those_of_their_views, a_culprit_causes_a_part_of_the_waiting, a_culprit_is_where_the_ranks_are,
        culprits_and_stragglers_agree, a_saving_lies_in_its_interval, a_saving_is_no_more_than_what_the_others_wait,
        the_step_time_is_that_of_the_steps, failed_gates_are_the_problems, doubt_is_doubt_everywhere]
