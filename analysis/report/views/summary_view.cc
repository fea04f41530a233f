#include "analysis/report/views/views.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/metrics/fleet/slow_part.h"
#include "analysis/metrics/fleet/step_time.h"
#include "analysis/metrics/fleet/workload.h"
#include "analysis/report/views/group_names.h"
#include "analysis/report/views/next_steps.h"
#include "analysis/report/views/percentiles.h"
#include "analysis/report/views/selection_notices.h"
#include "analysis/report/views/values.h"
#include "analysis/report/views/waits_for.h"
#include "analysis/report/views/worst_collectives.h"

namespace lockstep {
namespace {

constexpr size_t kMaxTails = 5;

report::TimeShares TimeSharesOf(const std::optional<TimeShare>& share) {
  if (!share) return {};
  return {.compute_ratio = share->compute,
          .exposed_wait_ratio = share->exposed_wait,
          .exposed_transfer_ratio = share->exposed_transfer,
          .exposed_unresolved_ratio = share->exposed_unresolved,
          .copy_ratio = share->copy,
          .opaque_ratio = share->opaque,
          .idle_ratio = share->idle};
}

// One rank, or the rank of a straggler that is one.
void AddRank(const ViewInput& input, const FleetRank& member, report::Culprit& row) {
  const SourceContext& context = member.source->context;
  row.scope = "rank";
  row.id = fmt::format("{}", member.rank);
  row.rank = member.rank;
  row.rank_source = Name(input.context.ranks.ranks[member.index].rank_source);
  row.path = TextIfAny(context.path);
  row.device = context.device;
  row.host = TextIfAny(member.host);
  row.gpu_uuid = TextIfAny(context.gpu.uuid);
  row.pci_bus = TextIfAny(context.gpu.pci_bus);
  row.ranks = {member.rank};
}

// The host of all these ranks, of which one is on `host`; null where they are on several, or it is not known.
std::optional<std::string> HostOfAll(const ViewInput& input, const std::vector<int32_t>& rank_indices,
                                     const std::string& host) {
  const bool on_one = std::all_of(rank_indices.begin(), rank_indices.end(), [&](int32_t index) {
    return input.context.ranks.ranks[static_cast<size_t>(index)].host == host;
  });
  return on_one ? TextIfAny(host) : std::nullopt;
}

// Scope, name and place of the culprit.
void AddWho(const ViewInput& input, const Culprit& culprit, report::Culprit& row) {
  const FleetRank& member = input.fleet.members[culprit.member];
  const Straggler* straggler = culprit.straggler;
  if (straggler == nullptr || straggler->scope == StragglerScope::kRank) return AddRank(input, member, row);
  row.scope = Name(straggler->scope);
  row.id = straggler->id;
  if (straggler->scope == StragglerScope::kCommunicator) row.name = NameOfGroup(input.context.match, straggler->id);
  for (const int32_t index : straggler->rank_indices) {
    row.ranks.push_back(input.context.ranks.ranks[static_cast<size_t>(index)].rank);
  }
  row.host = HostOfAll(input, straggler->rank_indices, member.host);
}

// How often a straggler is late, and what that costs.
void AddStraggler(const Straggler& straggler, const StragglerResult& result, report::Culprit& row) {
  row.recurrence = Name(straggler.kind);
  row.persistence = straggler.persistence;
  row.period_steps = straggler.period_steps;
  row.steps = straggler.steps;
  row.block_ns = KnownIf(!result.are_steps(), report::Count(result.unit_ns));
  row.frontier = Name(straggler.frontier);
  row.blamed_critical_ns = straggler.blame.critical_ns;
  row.saving_reason = TextIfAny(straggler.why_no_saving);
  if (straggler.parts.empty() || !row.cause) return;
  const StragglerPart& part = straggler.parts.front();
  row.kernel = TextIfAny(part.kernel);
  row.excess_ratio = KnownIf(part.excess_ratio > 0, part.excess_ratio);
}

// Of one that is no straggler.
std::optional<std::string> WhyNotReplayed(CulpritKind kind) {
  switch (kind) {
    case CulpritKind::kOnce:
      return "it happened once, so that other steps would not be shorter without it";
    case CulpritKind::kIrregular:
    case CulpritKind::kUndecided:
      return "only what is late again and again is replayed without it";
    case CulpritKind::kNotTested:
      return "there are too few steps to replay the run without it";
    case CulpritKind::kStraggler:
      break;
  }
  return std::nullopt;
}

void AddSavingOfCulprit(const Culprit& culprit, report::Culprit& row) {
  if (culprit.open) {
    row.saving_reason = "a member of its groups has no record, and may have come later still";
    return;
  }
  const Straggler* saver = culprit.straggler != nullptr ? culprit.straggler : culprit.looks;
  if (saver == nullptr || !saver->what_if) {
    row.saving_reason = saver == nullptr ? WhyNotReplayed(culprit.kind) : TextIfAny(saver->why_no_saving);
    return;
  }
  row.saving_ratio = saver->what_if->saving_ratio;
  row.saving_interval_ratio = SavingInterval(*saver->what_if);
  if (saver->after_others) row.saving_after_others_ratio = saver->after_others->saving_ratio;
}

report::Culprit CulpritRowOf(const ViewInput& input, const Naming& naming, const Culprit& culprit) {
  report::Culprit row;
  AddWho(input, culprit, row);
  row.caused_wait_total_ns = culprit.caused_wait_ns;
  row.share_of_wait_ratio = culprit.share_of_wait;
  row.confidence = culprit.confidence;
  row.cause = TextIfAny(culprit.cause);
  row.open = culprit.open;
  row.recurrence = TextIfAny(Name(culprit.kind));
  if (culprit.straggler != nullptr) AddStraggler(*culprit.straggler, naming.shown, row);
  AddSavingOfCulprit(culprit, row);
  if (culprit.worst_start_ns) {
    row.worst_at_ns = input.SinceStart(*culprit.worst_start_ns);
    row.worst_at_unix_ns = *culprit.worst_start_ns;
  }
  if (const auto& stretch = culprit.stretch_ns) {
    row.stretch_ns = std::pair(input.SinceStart(stretch->first), input.SinceStart(stretch->second));
  }
  return row;
}

report::UnresolvedTime UnresolvedOf(const ViewInput& input, const UnresolvedTime& unresolved) {
  report::UnresolvedTime row;
  row.ratio = unresolved.ratio;
  row.reason = Name(unresolved.reason);
  row.leads = unresolved.leads;
  row.missing_ranks = unresolved.missing_ranks;
  if (const auto& kernel = unresolved.kernel) {
    row.kernel = {.name = kernel->name,
                  .others = kernel->others,
                  .shortest_rank = input.RankOf(kernel->shortest),
                  .shortest_total_ns = kernel->shortest_ns,
                  .longest_total_ns = kernel->longest_ns};
  }
  row.lacking_rank = unresolved.lacking_rank;
  row.groups_inferred = unresolved.groups_inferred;
  return row;
}

report::Workload WorkloadOf(const ViewInput& input) {
  const Workload workload = ComputeWorkload(input.fleet, input.measures);
  return {.kind = TextIfAny(Name(workload.kind)),
          .overhead_ratio = workload.overhead,
          .communication_ratio = workload.communication,
          .work_ratio = workload.work,
          .memory_ratio = workload.memory};
}

std::vector<report::WorstTail> WorstTailsOf(const ViewInput& input, const std::vector<TailRow>& tails,
                                            const SummaryParts& parts) {
  const MostAwaited awaited(input, parts.late, parts.naming.blame.culprits);
  std::vector<report::WorstTail> list;
  for (size_t i = 0; i < tails.size() && i < kMaxTails; ++i) {
    report::WorstTail& row = list.emplace_back();
    row.name = tails[i].name;
    if (const auto worst = WorstRank(tails[i])) row.rank = input.RankOf(*worst);
    row.tail_score = tails[i].score.value;
    row.waits = MostAwaited::Waits(tails[i]);
    row.waits_for_rank = awaited.By(tails[i]);
  }
  return list;
}

std::vector<report::Problem> ProblemsOf(const Quality& quality) {
  std::vector<report::Problem> list;
  for (const Gate& gate : WorstProblems(quality.gates)) list.push_back({gate.name, gate.detail, gate.fix});
  return list;
}

// What the shares are of, where it is not all that was asked for.
void NotifyOfSharesWindow(const ViewInput& input) {
  const CommonWindow& window = input.measures.window;
  const AnalysisOptions& options = input.fleet.options;
  if (options.time_ns && window.kind == WindowKind::kBuckets) {
    input.Notify("summary", "the ranks are compared over whole buckets inside --time and the captures of all");
  }
  if (window.kind == WindowKind::kDisjoint) {
    input.Notify("summary",
                 "the selection contains no time that all ranks share: each rank is measured over its own part");
  }
  if (options.steps && window.kind == WindowKind::kSteps && !window.of_selection) {
    input.Notify("summary", fmt::format("the ranks are compared over the steps {}..{}: of those asked for the longest "
                                        "run that all of them have",
                                        window.first_step, window.last_step));
  }
}

// What bounds the run; of ranges, whose idle time is not the device's, what bounds what they launched.
RunVerdict RunVerdictOf(const ViewInput& input, const std::optional<TimeShare>& share) {
  return ComputeVerdict(share && !input.fleet.options.nvtx.empty() ? BusyShare(*share) : share);
}

// What of the summary is not of what was asked for, or not as exact as elsewhere.
void NotifyOfMeasures(const ViewInput& input, const SummaryParts& parts) {
  if (input.fleet.Components() > 1) {
    input.Notify("summary",
                 "the clocks of the ranks cannot all be aligned: their shares of time are compared by the UTC times of "
                 "the traces");
  }
  if (!input.fleet.options.nvtx.empty()) NotifyOfIdleInRanges(input, "summary");
  NotifyOfSharesWindow(input);
  if (input.fleet.TablesTooWide() && !parts.tails.empty()) {
    input.Notify(
        "summary",
        "worst tails and the share of memory-bound kernels are of the time slices that touch what was asked for");
  }
}

// The first of those that look late and are not decided: the one that would save most.
std::optional<report::LooksLate> LooksLateOf(const StragglerResult& stragglers) {
  if (stragglers.undecided.empty()) return std::nullopt;
  const Undecided& first = stragglers.undecided.front();
  report::LooksLate row;
  row.scope = Name(first.scope);
  row.id = first.id;
  row.steps = first.steps;
  row.steps_needed = KnownIf(first.steps_needed > 0, report::Count(first.steps_needed));
  row.block_ns = KnownIf(!stragglers.are_steps(), report::Count(stragglers.unit_ns));
  if (first.looks.what_if) row.saving_ratio = first.looks.what_if->saving_ratio;
  return row;
}

std::optional<report::SlowPart> SlowPartOf(const ViewInput& input) {
  if (!IsWholeRun(input.fleet)) return std::nullopt;
  const std::optional<SlowPart> slow = FindSlowPart(input.fleet);
  if (!slow) return std::nullopt;
  report::SlowPart row;
  std::vector<int32_t> indices;
  for (const size_t member : slow->members) {
    row.ranks.push_back(input.RankOf(member));
    indices.push_back(static_cast<int32_t>(input.fleet.members[member].index));
  }
  row.host = HostOfAll(input, indices, input.fleet.members[slow->members.front()].host);
  row.step_ns = slow->step_ns;
  row.others_step_ns = slow->others_step_ns;
  return row;
}

void AddWaiting(const ViewInput& input, const Naming& naming, report::Summary& summary) {
  const WaitBlame& blame = naming.blame;
  for (size_t i = 0; i < std::min(blame.culprits.size(), kMaxCulprits); ++i) {
    report::Culprit& row = summary.culprits.emplace_back(CulpritRowOf(input, naming, blame.culprits[i]));
    if (IsWholeRun(input.fleet) && !blame.traced) row.blamed_critical_ns = std::nullopt;
  }
  if (const auto most = MostAwaitedMember(blame)) {
    summary.most_awaited = {input.RankOf(*most), blame.by_member[*most].caused_ns};
  }
  summary.looks_late = LooksLateOf(naming.shown);
  summary.slow_part = SlowPartOf(input);
  if (blame.left_out) summary.left_out_culprit = {blame.left_out->rank, blame.left_out->caused_ns};
  summary.wait_total_ns = blame.wait_ns;
  summary.certain_wait_ns = blame.certain_wait_ns;
  summary.pair_wait_total_ns = blame.in_pairs_ns;
  summary.tied_ranks = blame.tied_ranks;
  summary.unassigned_wait_ns = blame.unassigned_ns;
}

// No rank has a record of a collective, but a file was not read to its end: they may be in what is missing.
bool CommunicationMayBeLost(const ViewInput& input, const std::vector<report::Problem>& problems) {
  const std::vector<FleetRank>& members = input.fleet.members;
  const bool none = std::none_of(members.begin(), members.end(),
                                 [](const FleetRank& it) { return it.source->context.collectives > 0; });
  return members.size() > 1 && none &&
         std::any_of(problems.begin(), problems.end(), [](const auto& it) { return it.gate == "files_whole"; });
}

}  // namespace

report::Summary SummaryView(const ViewInput& input, const SummaryParts& parts) {
  NotifyOfMeasures(input, parts);
  const std::optional<TimeShare> share = ComputeTimeShare(input.measures);
  const Naming& naming = parts.naming;
  const std::optional<UnresolvedTime>& unresolved = naming.unresolved;
  if (!naming.shown.stragglers.empty()) NotifyOfStragglersOfAll(input, "summary");
  report::Summary summary;
  summary.problems = ProblemsOf(parts.quality);
  // Waiting may lie in kernels that count as computing.
  const bool computing_is_open = unresolved && unresolved->leads && (unresolved->kernel || unresolved->little_known);
  const bool open = computing_is_open || CommunicationMayBeLost(input, summary.problems);
  const RunVerdict verdict = open ? RunVerdict::kInconclusive : RunVerdictOf(input, share);
  summary.time_share = TimeSharesOf(share);
  if (share) summary.window = WindowRowOf(input);
  AddWaiting(input, naming, summary);
  summary.verdict = Name(verdict);
  if (unresolved) summary.unresolved = UnresolvedOf(input, *unresolved);
  summary.workload = WorkloadOf(input);
  if (const auto step_time = ComputeStepTime(input.fleet)) {
    summary.step_ns = PercentilesOf(step_time->time);
    summary.steps_by_rank = step_time->by_rank;
  }
  summary.rank_time_ns = input.measures.RankTime();
  summary.ranks_assumed_all = AssumesAllRanks(input.fleet);
  summary.decided = naming.shown.decides;
  summary.worst_collectives = WorstCollectives(input.fleet.match, parts.collectives);
  summary.worst_tails = WorstTailsOf(input, parts.tails, parts);
  summary.next = NextSteps(input, {verdict, share, naming.blame, parts});
  return summary;
}

}  // namespace lockstep
