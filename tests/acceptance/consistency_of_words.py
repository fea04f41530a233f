"""Laws of the words: what the headline says of who waits for whom agrees with the views below it. See consistency_of_numbers."""
import re

from consistency_of_numbers import SHARES, total
from one_answer import STRAGGLER_KINDS, about, percent, ranks_in, times_of

NOBODY = ("Nobody in particular", "Nobody waits")
ACCUSES = ("persistent_straggler", "slow_device")
LABELS = dict(zip(SHARES, ("computing", "waiting for a later rank (exposed)", "transferring (exposed)", "waiting or transferring, not separable",
                           "copying (exposed)", "in CUDA graphs traced as a whole", "idle")))


def name_of(culprit):
    """As the text writes it."""
    if culprit.get("name"):
        return f"group {culprit['name']}"
    return culprit["id"] if culprit["id"].startswith(culprit["scope"]) else f"{culprit['scope']} {culprit['id']}"


def sentence_of(a, start):
    return next((line for line in a.headline if line.startswith(start)), None)


def the_headline_names_the_first_culprit(a):
    if a.culprits:
        name = name_of(a.culprits[0]).lower()
        if not any(name in line.lower() for line in a.headline):
            yield f"culprit {name}, headline {a.headline}"
        if any(word in line for line in a.headline for word in NOBODY):
            yield f"culprit {name}, but: {a.headline}"
    elif not a.headline:
        yield "no headline"


def the_numbers_of_the_headline_are_those_of_the_document(a):
    """"X of Y of waiting (Z)": the three are one truth, also for who divides the one by the other."""
    shown = [(line, found) for line in a.text.splitlines() for found in
             [re.search(r"([\d.]+ (?:ns|us|ms|s)) of ([\d.]+ (?:ns|us|ms|s)) of waiting \(([\d.]+ %)\)", line)] if found]
    for line, found in shown:
        part, whole = times_of(found[1])[0], times_of(found[2])[0]
        if not about(whole, a.summary["wait_total_ns"]):
            yield f"total {a.summary['wait_total_ns']}: {line}"
        if abs(part / whole - float(found[3][:-2]) / 100) > 0.011:
            yield f"{100 * part / whole:.1f} %: {line}"
        if part > 1.01 * whole:
            yield f"more than the whole: {line}"


def the_block_is_the_document_in_percent(a):
    share, block = a.summary["time_share"], a.sections.get("where the GPU time goes", "")
    shown = 0.0
    for name, label in LABELS.items():
        found = re.search(rf"^  {re.escape(label)} +([\d.]+) %", block, re.M)
        if share[name] is None:
            continue
        if found is None:
            if share[name] >= 0.0005 or name in ("compute_ratio", "idle_ratio"):
                yield f"{label} is {share[name]}, and not shown"
            continue
        shown += float(found[1])
        if abs(float(found[1]) - 100 * share[name]) > 0.0501:
            yield f"{label}: {found[1]} %, in the document {share[name]}"
    if share["compute_ratio"] is not None and abs(shown - 100) > 0.36:
        yield f"the block sums to {shown} %"


def the_verdict_is_of_the_block(a):
    share = {name: value or 0 for name, value in a.summary["time_share"].items()}
    wait, transfer, unresolved = (share[f"exposed_{part}_ratio"] for part in ("wait", "transfer", "unresolved"))
    work = share["compute_ratio"] + share["copy_ratio"] + share["opaque_ratio"]
    verdict, nvtx = a.summary["verdict"], "nvtx" in (a.report["run"]["analysed"] or {})
    line = sentence_of(a, "Communication is")
    if line is not None:
        if f"{percent(wait)} of GPU time is exposed waiting, {percent(transfer)} exposed transfer" not in line:
            yield f"wait {wait}, transfer {transfer}: {line}"
    line = sentence_of(a, "The GPUs are idle")
    if line is not None and percent(share["idle_ratio"]) not in line:
        yield f"idle {share['idle_ratio']}: {line}"
    if nvtx:
        return
    if verdict == "skew" and wait < transfer + unresolved / 2 or verdict == "transfer" and transfer < wait:
        yield f"{verdict}, but wait {wait}, transfer {transfer}, unresolved {unresolved}"
    if verdict == "compute" and work < max(share["idle_ratio"], wait + transfer + unresolved):
        yield f"mostly compute: {share}"
    if verdict == "host" and share["idle_ratio"] < max(work, wait + transfer + unresolved) and share["idle_ratio"] < 0.25:
        yield f"host: {share}"


def waiting_that_is_the_verdict_is_in_the_headline(a):
    """"Nobody waits" is not beside "mostly waiting"; what costs a tenth of the time is not beside an unknown limit."""
    said = " ".join(a.headline)
    share = {name: value or 0 for name, value in a.summary["time_share"].items()}
    if "Nobody waits" in said and ("mostly waiting" in said or share["exposed_wait_ratio"] >= 0.0005 or a.summary["wait_total_ns"] > 0):
        yield f"{said[:200]} | exposed wait {share['exposed_wait_ratio']}"
    if "No waiting is visible" in said and (share["exposed_wait_ratio"] >= 0.0005 or a.summary["wait_total_ns"] > 0):
        yield f"{said[:200]} | exposed wait {share['exposed_wait_ratio']}, {a.summary['wait_total_ns']} ns of waiting"
    if "What limits the run" in said and a.certain and not a.leads:
        costs = max(max(it["saving_ratio"] or 0, it["caused_wait_total_ns"] / max(1, a.summary["rank_time_ns"])) for it in a.certain)
        if costs >= 0.1:
            yield f"certain culprit that costs {costs:.2f}, but what limits the run is unknown"


def stragglers_say_none_only_where_nobody_is_named(a):
    shown = a.sections.get("stragglers", "")
    none = "(none found)" in shown or "(nobody)" in shown
    if none != (not a.view("stragglers")) and "stragglers" in a.sections:
        if none:
            yield "stragglers says none, but has rows"
    if not none:
        return
    if a.culprits:
        yield f"{name_of(a.culprits[0])} is named ({a.culprits[0]['recurrence']}, {a.culprits[0]['confidence']:.2f}), stragglers says: {first_line(shown)}"
    if a.summary["decided"] is False:
        yield f"not enough data, stragglers says: {first_line(shown)}"
    if a.leads:
        yield f"who makes the others wait is unknown, stragglers says: {first_line(shown)}"


def first_line(section):
    return " | ".join(line.strip() for line in section.splitlines()[1:3])


def not_enough_data_is_not_worded_as_nobody(a):
    said = " ".join(a.headline)
    if len(a.present) < 2:
        return
    if a.summary["decided"] is False and "Nobody in particular" in said:
        yield f"decided is false: {said[:160]}"
    undecided = [it["reason"] for it in a.view("notices") if it["view"] == "stragglers" and it["reason"].startswith("not enough data")]
    if undecided and any(word in said for word in NOBODY):
        yield f"{said[:120]} | {undecided[0][:120]}"
    if a.view("stragglers") and any(word in said for word in NOBODY):
        yield f"{said[:120]} | stragglers has {a.view('stragglers')[0]['id']}"


def spread_over_the_ranks_is_spread(a):
    said, skew = " ".join(a.headline), a.view("skew")
    if "spread over the ranks" not in said or len(a.present) < 3:
        return
    most = max(skew["ranks"], key=lambda row: row["caused_wait_total_ns"])
    if most["caused_wait_total_ns"] >= 0.5 * a.summary["wait_total_ns"] > 0:
        yield f"{said[:120]} | rank {most['rank']} caused {most['caused_wait_total_ns']} of {a.summary['wait_total_ns']}"


def who_causes_most_waiting_is_the_one_named_or_it_is_explained(a):
    """The view skew counts who came last. Where that is another one than the headline names, the view says why."""
    ranks, shown = a.view("skew")["ranks"], a.sections.get("skew", "")
    if not a.culprits or not ranks:
        return
    most = max(ranks, key=lambda row: row["caused_wait_total_ns"])
    caused, wait = most["caused_wait_total_ns"], a.summary["wait_total_ns"]
    if caused < 0.2 * wait or not wait or any(most["rank"] in it["ranks"] for it in a.culprits):
        of_named = {row["rank"]: row["caused_wait_total_ns"] for row in ranks}
        for culprit in a.culprits:
            last = sum(of_named.get(rank, 0) for rank in culprit["ranks"])
            if abs(last - culprit["caused_wait_total_ns"]) > 0.02 * wait and "headline" not in shown:
                yield f"{name_of(culprit)} caused {culprit['caused_wait_total_ns']} in the headline, {last} in skew, of {wait}; not explained"
        return
    if "headline" not in shown:
        yield f"rank {most['rank']} caused {caused} of {wait} in skew, the headline names {[name_of(it) for it in a.culprits]}; not explained"


def tails_wait_for_whom_the_headline_names(a):
    named = {rank for culprit in a.culprits for rank in culprit["ranks"]}
    for tail in a.summary["worst_tails"]:
        rank = tail.get("waits_for_rank")
        if rank is not None and rank not in named and tail["tail_score"] >= 0.0005:
            yield f"a tail of {tail['tail_score']:.3f} waits for rank {rank}, the headline: {' '.join(a.headline)[:120]}"


def the_next_steps_do_not_contradict_the_headline(a):
    wait = a.summary["wait_total_ns"]
    for line in a.summary["next"]:
        if "no single rank dominates" in line:
            most = max((row["caused_wait_total_ns"] for row in a.view("skew")["ranks"]), default=0)
            if a.culprits or (wait and most >= 0.5 * wait and len(a.present) > 2):
                yield f"{line} | one rank caused {most} of {wait}, {len(a.culprits)} named"
        if line.startswith("--view stragglers") and not a.view("stragglers"):
            yield f"{line} | the view is empty"
        found = re.search(r"idle (\d+) % of the time", line)
        if found and a.summary["time_share"]["idle_ratio"] is not None and abs(int(found[1]) - 100 * a.summary["time_share"]["idle_ratio"]) > 0.51:
            yield f"{line} | idle {a.summary['time_share']['idle_ratio']}"
        if "waiting cannot be separated" in line and a.culprits:
            yield f"{line} | {len(a.culprits)} named"


def findings_accuse_whom_the_headline_names(a):
    rows = {(" ".join([row["scope"], row["id"]]) if not row["id"].startswith(row["scope"]) else row["id"]): row for row in a.view("stragglers")}
    named = {name_of(culprit) for culprit in a.culprits}
    for finding in a.view("findings"):
        if finding["id"] not in ACCUSES:
            continue
        where = finding["evidence"][0]["where"]
        row = next((row for name, row in rows.items() if where == name or where.startswith(name + " on ")), None)
        if row is None:
            yield f"finding {finding['id']} accuses {where}, stragglers has {list(rows)}"
            continue
        values = {it["metric"]: it["value"] for it in finding["evidence"]}
        for metric, field in (("late_steps_ratio", "persistence"), ("lateness_ns_per_step", "effect_ns_per_step"), ("p_adjusted", "p_adjusted"),
                              ("saving_ratio", "saving_ratio"), ("saving_after_others_ratio", "saving_after_others_ratio")):
            if metric in values and abs(values[metric] - row[field]) > 1e-8 * abs(row[field]):  # written with nine digits
                yield f"finding of {where}: {metric} {values[metric]}, in stragglers {row[field]}"
        short = name_of({"scope": row["scope"], "id": row["id"], "name": row.get("name")})
        if short not in named and len(named) < 3:
            yield f"finding {finding['id']} accuses {where}, the headline names {sorted(named)}: {' '.join(a.headline)[:100]}"
        if finding["severity"] == "major" and a.culprits and not a.certain and short in named:
            yield f"finding is sure of {where}, the headline is not ({a.culprits[0]['confidence']:.2f}): {finding['title']}"


def findings_of_waiting_agree_with_the_block_and_the_headline(a):
    share, ranks = a.summary["time_share"], a.view("skew")["ranks"]
    for finding in a.view("findings"):
        for evidence in finding["evidence"]:
            metric, value = evidence["metric"], evidence["value"]
            if metric in share and share[metric] is not None and evidence["where"] in (None, "all ranks") or metric in ("exposed_wait_ratio", "exposed_transfer_ratio"):
                if share[metric] is not None and abs(value - share[metric]) > 0.005:
                    yield f"{finding['id']}: {metric} {value:.4f}, in the block {share[metric]:.4f}"
            if metric == "largest_part_of_waiting_ratio" and a.summary["wait_total_ns"]:
                most = max(ranks, key=lambda row: row["caused_wait_total_ns"])
                if abs(value - most["caused_wait_total_ns"] / a.summary["wait_total_ns"]) > 1e-6:
                    yield f"{finding['id']}: largest part {value}, in skew {most['caused_wait_total_ns'] / a.summary['wait_total_ns']}"
                named = {rank for culprit in a.culprits for rank in culprit["ranks"]}
                if a.culprits and not ranks_in(evidence["where"]) & named and value >= 0.2:
                    yield f"{finding['id']}: {evidence['where']} causes {value:.2f} of the waiting, the headline names {sorted(named)}"
        cause = finding["cause"] or ""
        if "no persistent straggler was found" in cause and (a.view("stragglers") or a.summary["decided"] is False):
            yield f"{finding['id']}: {cause}"
        if "too short" in cause and a.summary["decided"] is True:
            yield f"{finding['id']}: {cause}, but decided"


def findings_of_work_agree_with_the_block(a):
    share = {name: value for name, value in a.summary["time_share"].items() if value is not None}
    if not share:
        return
    known = {"copy_ratio": None, "idle_ratio": share["idle_ratio"]}
    for finding in a.view("findings"):
        for evidence in finding["evidence"]:
            if evidence["metric"] == "idle_ratio" and abs(evidence["value"] - known["idle_ratio"]) > 0.005:
                yield f"{finding['id']}: idle {evidence['value']:.4f}, in the block {share['idle_ratio']:.4f}"
        if finding["saving_ratio"] is not None and not 0 <= finding["saving_ratio"] <= 1:
            yield f"{finding['id']}: saving {finding['saving_ratio']}"
    work = a.summary["workload"]
    communication = share["exposed_wait_ratio"] + share["exposed_transfer_ratio"] + share["exposed_unresolved_ratio"]
    if abs(work["communication_ratio"] - communication) > 0.005:
        yield f"workload: communication {work['communication_ratio']:.4f}, in the block {communication:.4f}"


def findings_are_beyond_their_limits(a):
    """A limit that is shown is the one that the number is beyond: a chance is below it, all else above."""
    for finding in a.view("findings"):
        for evidence in finding["evidence"]:
            value, limit = evidence["value"], evidence["threshold"]
            if limit and (value > limit if evidence["metric"] == "p_adjusted" else value < limit * (1 - 1e-9)):
                yield f"{finding['id']}: {evidence['metric']} {value} with a limit of {limit}"


def what_is_certain_and_dear_is_a_finding(a):
    """"findings (none)" is not beside a headline that is certain of a twentieth of the time."""
    for culprit in a.certain:
        cost = max(culprit["saving_ratio"] or 0, culprit["caused_wait_total_ns"] / max(1, a.summary["rank_time_ns"]))
        if cost >= 0.05 and not a.view("findings"):
            yield f"{name_of(culprit)} costs {cost:.3f} ({culprit['recurrence']}), findings is empty"


def the_gate_of_waiting_has_the_share_of_the_block(a):
    unresolved = a.summary["time_share"]["exposed_unresolved_ratio"]
    for gate in a.view("quality")["gates"]:
        found = re.match(r"([\d.]+) % of the time is communication in which", gate["detail"])
        if gate["name"] == "waiting_told" and found and unresolved is not None and abs(float(found[1]) / 100 - unresolved) > 0.005:
            yield f"{gate['detail']} | {unresolved}"


def idle_for_the_host_is_so_in_the_view(a):
    if a.summary["verdict"] != "host":
        return
    host, idle = total(a.view("idle"), "host_ns", "launch_ns"), total(a.view("idle"), "idle_ns")
    if idle and host < 0.45 * idle:
        yield f"mostly for the host, which is {host / idle:.2f} of the view idle"


def a_window_that_is_not_the_whole_is_said(a):
    """The block is over what the ranks have in common, the view overlap over all: each says so."""
    block, overlap = (a.sections.get(title, "").splitlines() or [""] for title in ("where the GPU time goes", "overlap"))
    window = a.summary["window"]
    if "whole span" not in overlap[0]:
        yield overlap[0]
    if window is None:
        return
    if window != a.view("imbalance")["window"]:
        yield f"window {window}, in imbalance {a.view('imbalance')['window']}"
    said = "each rank over its own span" if window["kind"] == "disjoint_spans" else "over "
    if said not in block[0] or said == "over " and not about(times_of(block[0])[0], window["span_ns"]):
        yield f"{window}: {block[0]}"


def the_last_step_of_the_table_is_explained(a):
    """The table shows steps of ranks, the last one to the end of the capture; the step time is the job's."""
    step, rows = a.summary["step_ns"], a.view("steps")
    if step is None or not rows or max(row["span_ns"] for row in rows) <= 1.0001 * step["max"]:
        return
    numbers = {}
    for row in rows:
        numbers.setdefault(row["step"], set()).add(row["rank"])
    everybody = {row["rank"] for row in rows}
    longest = max((row["span_ns"] for row in rows if numbers[row["step"]] == everybody), default=0)
    section = " ".join(a.sections.get("steps", "").split())
    explained = "ends with the work of the step" in section or "from when the last rank begins a step" in section
    if longest > 1.0001 * step["max"] and not explained:
        yield f"a step of {longest} in the table, longest step time {step['max']}"


def upper_limits_say_so(a):
    """A finding that rests on no replay shows all the time that it costs as its saving: that is the most."""
    section = a.sections.get("findings", "")
    for line in section.splitlines():
        if line.strip().startswith("saving:") and "by a replay" not in line and "at most" not in line:
            yield line.strip()
    for line in a.headline:
        if ("may contain" in line or "may be" in line) and "% of the time" in line and "at most" not in line.lower():
            yield line


def confidence_is_in_words_what_it_is_in_numbers(a):
    for culprit, line in zip(a.culprits[:1], re.findall(r"^  confidence +(.*)$", a.sections[""], re.M)):
        word = "certain" if culprit["confidence"] >= 0.95 else "fairly sure" if culprit["confidence"] >= 0.8 else "not sure"
        if not line.startswith(word):
            yield f"{culprit['confidence']}: {line}"
        if culprit["rank_source"] == "assumed" and "the rank number is assumed" not in a.sections[""]:
            yield "the rank number is assumed, and that is not said"


def gates_are_written_as_they_are(a):
    section = a.sections.get("quality of the data", "")
    for gate in a.view("quality")["gates"]:
        word = {True: "ok", False: "FAIL", None: "-"}[gate["ok"]]
        if not re.search(rf"^  {re.escape(word)} +{gate['name']}\b", section, re.M):
            yield f"gate {gate['name']} is {gate['ok']}, not written so"


def ranks_that_are_named_exist(a):
    known = a.present | set(a.report["run"]["missing_ranks"])
    known |= {rank for row in a.view("collectives") for rank in row["members"]}
    if a.summary["unresolved"]:
        known |= set(a.summary["unresolved"]["missing_ranks"])
    if a.summary["left_out_culprit"]:
        known.add(a.summary["left_out_culprit"]["rank"])
    for title in ("", "next", "stragglers", "findings", "notices"):
        for line in a.sections.get(title, "").splitlines():
            if "/" in line:
                continue  # names of files
            unknown = ranks_in(line) - known
            if unknown and "more than these" not in line:
                yield f"ranks {sorted(unknown)[:4]} of {sorted(known)[:4]}...: {line.strip()[:140]}"


def the_step_time_is_first_and_that_of_the_document(a):
    step = a.summary["step_ns"]
    line = next((line for line in a.sections[""].splitlines() if line.startswith("step time")), None)
    if (line is not None) != (step is not None and step["count"] > 0):
        yield f"step time {step and step['count']}: {line}"
    if line is None:
        return
    for name, word in (("p50", "median"), ("p90", "p90"), ("max", "longest")):
        found = re.search(rf"([\d.]+ (?:ns|us|ms|s)) {word}", line)
        if found and not about(times_of(found[1])[0], step[name]):
            yield f"{name} {step[name]}: {line}"


def waiting_is_of_one_whole_in_the_text(a):
    """A share of waiting in the headline and the waits of the view skew are of one sum."""
    section = a.sections.get("skew", "")
    found = re.search(r"Waiting that cannot be assigned to one rank with certainty: (.*)", section)
    if found and times_of(found[1]) and not about(times_of(found[1])[0], a.summary["unassigned_wait_ns"]):
        yield found[0]
    waited = total(a.view("skew")["ranks"], "wait_total_ns")
    for line in a.headline:
        for whole in re.findall(r"of ([\d.]+ (?:ns|us|ms|s)) of waiting", line):
            if not about(times_of(whole)[0], waited):
                yield f"skew sums to {waited}: {line}"


LAWS = [the_headline_names_the_first_culprit, the_numbers_of_the_headline_are_those_of_the_document, the_block_is_the_document_in_percent,
        the_verdict_is_of_the_block, waiting_that_is_the_verdict_is_in_the_headline, stragglers_say_none_only_where_nobody_is_named,
        not_enough_data_is_not_worded_as_nobody, spread_over_the_ranks_is_spread, who_causes_most_waiting_is_the_one_named_or_it_is_explained,
        tails_wait_for_whom_the_headline_names, the_next_steps_do_not_contradict_the_headline, findings_accuse_whom_the_headline_names,
        findings_of_waiting_agree_with_the_block_and_the_headline, findings_of_work_agree_with_the_block, findings_are_beyond_their_limits,
        what_is_certain_and_dear_is_a_finding, the_gate_of_waiting_has_the_share_of_the_block, idle_for_the_host_is_so_in_the_view,
        a_window_that_is_not_the_whole_is_said, the_last_step_of_the_table_is_explained, upper_limits_say_so,
        confidence_is_in_words_what_it_is_in_numbers, gates_are_written_as_they_are, ranks_that_are_named_exist,
        the_step_time_is_first_and_that_of_the_document, waiting_is_of_one_whole_in_the_text]
