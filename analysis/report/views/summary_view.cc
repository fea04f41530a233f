#include "analysis/report/views/summary_view.h"

#include <fmt/format.h>

#include "analysis/metrics/fleet/workload.h"
#include "analysis/report/json.h"
#include "analysis/report/views/empty_views.h"
#include "analysis/report/views/next_steps.h"
#include "analysis/report/views/selection_notices.h"
#include "analysis/report/views/worst_collectives.h"

namespace lockstep {
namespace {

constexpr size_t kMaxTails = 5;

Json TimeShareJson(const std::optional<TimeShare>& share) {
  const auto real = [&](double TimeShare::*part) { return share ? Json((*share).*part) : Json(nullptr); };
  return {{"compute_ratio", real(&TimeShare::compute)},
          {"exposed_wait_ratio", real(&TimeShare::exposed_wait)},
          {"exposed_transfer_ratio", real(&TimeShare::exposed_transfer)},
          {"exposed_unresolved_ratio", real(&TimeShare::exposed_unresolved)},
          {"copy_ratio", real(&TimeShare::copy)},
          {"opaque_ratio", real(&TimeShare::opaque)},
          {"idle_ratio", real(&TimeShare::idle)}};
}

// Scope, name and place of the culprit: one rank, or what a straggler of several ranks is.
void AddWho(const ViewInput& input, const Culprit& culprit, Json& json) {
  const FleetRank& member = input.fleet.members[culprit.member];
  const Straggler* straggler = culprit.straggler;
  const bool several = straggler != nullptr && straggler->scope != StragglerScope::kRank;
  const bool one_host = !several || straggler->scope == StragglerScope::kHost;
  json["scope"] = several ? Name(straggler->scope) : "rank";
  json["id"] = several ? straggler->id : fmt::format("{}", member.rank);
  json["rank"] = several ? Json(nullptr) : Json(member.rank);
  const RankSource told_by = input.context.ranks.ranks[member.index].rank_source;
  json["rank_source"] = several ? Json(nullptr) : Json(Name(told_by));
  json["path"] = several ? Json(nullptr) : TextOrNull(member.source->context.path);
  json["device"] = several ? Json(nullptr) : Json(member.source->context.device);
  json["host"] = one_host ? TextOrNull(member.host) : Json(nullptr);
  json["gpu_uuid"] = several ? Json(nullptr) : TextOrNull(member.source->context.gpu.uuid);
  json["pci_bus"] = several ? Json(nullptr) : TextOrNull(member.source->context.gpu.pci_bus);
  Json ranks = Json::array();
  if (several) {
    for (const int32_t index : straggler->rank_indices) {
      ranks.push_back(input.context.ranks.ranks[static_cast<size_t>(index)].rank);
    }
  } else {
    ranks.push_back(member.rank);
  }
  json["ranks"] = std::move(ranks);
}

// How often, and what it would save; null for who was not found by the test over the steps.
void AddStatement(const Culprit& culprit, Json& json) {
  const Straggler* straggler = culprit.straggler;
  json["recurrence"] = straggler != nullptr ? Json(Name(straggler->kind)) : TextOrNull(Name(culprit.kind));
  json["persistence"] = straggler != nullptr ? Json(straggler->persistence) : Json(nullptr);
  json["period_steps"] = straggler != nullptr ? OrNull(straggler->period_steps) : Json(nullptr);
  json["steps"] = straggler != nullptr ? Json(straggler->steps) : Json(nullptr);
  const StragglerPart* part = straggler != nullptr && !straggler->parts.empty() ? &straggler->parts.front() : nullptr;
  json["kernel"] = part != nullptr ? TextOrNull(part->kernel) : Json(nullptr);
  json["frontier"] = straggler != nullptr ? Json(Name(straggler->frontier)) : Json(nullptr);
  json["blamed_critical_ns"] = straggler != nullptr ? Json(straggler->blame.critical_ns) : Json(nullptr);
  json["excess_ratio"] = part != nullptr && part->excess_ratio > 0 ? Json(part->excess_ratio) : Json(nullptr);
  json["saving_reason"] = straggler != nullptr ? TextOrNull(straggler->why_no_saving) : Json(nullptr);
  json["saving_ratio"] = nullptr;
  json["saving_interval_ratio"] = nullptr;
  json["saving_after_others_ratio"] = nullptr;
  if (culprit.open) {
    json["saving_reason"] = "a member of its groups has no record, and may have come later still";
    return;
  }
  const Straggler* saver = straggler != nullptr ? straggler : culprit.looks;
  if (saver == nullptr || !saver->what_if) return;
  const double saving = saver->what_if->saving_ratio;
  const double half = SavingHalfWidth(*saver);
  json["saving_ratio"] = saving;
  if (saver->after_others) json["saving_after_others_ratio"] = saver->after_others->saving_ratio;
  json["saving_interval_ratio"] = {saving - half, saving + half};
}

Json CulpritJson(const ViewInput& input, const Culprit& culprit) {
  Json json;
  AddWho(input, culprit, json);
  json["caused_wait_total_ns"] = culprit.caused_wait_ns;
  json["share_of_wait_ratio"] = culprit.share_of_wait;
  json["confidence"] = culprit.confidence;
  json["cause"] = TextOrNull(culprit.cause);
  json["open"] = culprit.open;
  AddStatement(culprit, json);
  const bool has_worst = culprit.worst_start_ns.has_value();
  json["worst_at_ns"] = has_worst ? Json(input.SinceStart(*culprit.worst_start_ns)) : Json(nullptr);
  json["stretch_ns"] = Json(nullptr);
  if (culprit.stretch_ns) {
    json["stretch_ns"] = {input.SinceStart(culprit.stretch_ns->first), input.SinceStart(culprit.stretch_ns->second)};
  }
  json["worst_at_unix_ns"] = has_worst ? Json(fmt::format("{}", *culprit.worst_start_ns)) : Json(nullptr);
  return json;
}

// Null where all is told.
Json UnresolvedJson(const ViewInput& input, const std::optional<UnresolvedTime>& unresolved) {
  if (!unresolved) return nullptr;
  Json json = {{"ratio", unresolved->ratio}, {"reason", Name(unresolved->reason)}, {"leads", unresolved->leads}};
  json["missing_ranks"] = unresolved->missing_ranks;
  const LostCollectives* lacking = unresolved->lacking;
  json["kernel"] = Json(nullptr);
  if (const auto& kernel = unresolved->kernel) {
    json["kernel"] = {{"name", kernel->name},
                      {"shortest_rank", input.RankOf(kernel->shortest)},
                      {"shortest_total_ns", kernel->shortest_ns},
                      {"longest_total_ns", kernel->longest_ns}};
  }
  json["lacking_rank"] = lacking == nullptr
                             ? Json(nullptr)
                             : Json(input.context.ranks.ranks[static_cast<size_t>(lacking->rank_index)].rank);
  return json;
}

Json WorkloadJson(const ViewInput& input) {
  const Workload workload = ComputeWorkload(input.fleet, input.measures);
  return {{"class", TextOrNull(Name(workload.kind))},
          {"overhead_ratio", workload.overhead},
          {"communication_ratio", workload.communication},
          {"work_ratio", workload.work},
          {"memory_ratio", OrNull(workload.memory)}};
}

Json WorstTails(const ViewInput& input, const std::vector<TailRow>& tails) {
  Json list = Json::array();
  for (size_t i = 0; i < tails.size() && i < kMaxTails; ++i) {
    const auto worst = WorstRank(tails[i]);
    list.push_back({{"name", tails[i].name},
                    {"rank", worst ? Json(input.RankOf(*worst)) : Json(nullptr)},
                    {"tail_score", tails[i].score.value}});
  }
  return list;
}

Json Problems(const Quality& quality) {
  Json list = Json::array();
  for (const Gate& gate : WorstProblems(quality.gates)) {
    list.push_back({{"gate", gate.name}, {"detail", gate.detail}, {"fix", gate.fix}});
  }
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
    input.Notify("summary", "the ranks share no time of what was asked for: each is measured over its own");
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

}  // namespace

Json SummaryView(const ViewInput& input, const SummaryParts& parts) {
  if (input.fleet.Components() > 1) {
    input.Notify("summary",
                 "the clocks of the ranks cannot all be aligned: their shares of time are compared on UTC claims");
  }
  if (!input.fleet.options.nvtx.empty()) NotifyOfIdleInRanges(input, "summary");
  NotifyOfSharesWindow(input);
  if (input.fleet.TablesTooWide() && !parts.tails.empty()) {
    input.Notify(
        "summary",
        "worst tails and the share of memory-bound kernels are of the time slices that touch what was asked for");
  }
  const std::optional<TimeShare> share = ComputeTimeShare(input.measures);
  WaitBlame blame = ComputeWaitBlame(input.fleet, input.measures, parts.imbalance, parts.late);
  if (parts.stragglers != nullptr) {
    // The blame of the whole run would be more than the waiting of a part of it.
    const bool whole = !JudgedOnMore(input.fleet) && input.fleet.options.kernels.empty();
    const BlameResult* of_all = whole ? parts.blame : nullptr;
    NameCulprits(input.fleet, input.measures, *parts.stragglers, of_all, blame);
    if (!parts.stragglers->stragglers.empty()) NotifyOfStragglersOfAll(input, "summary");
  }
  const std::optional<UnresolvedTime> unresolved =
      ComputeUnresolved(input.fleet, input.measures, share, blame.culprits, parts.quality.waiting_kernel);
  DoubtBeside(unresolved, blame.culprits);
  const bool kernel_leads = unresolved && unresolved->leads && unresolved->kernel;
  const RunVerdict verdict = kernel_leads ? RunVerdict::kInconclusive : RunVerdictOf(input, share);
  Json json;
  json["time_share"] = TimeShareJson(share);
  Json culprits = Json::array();
  for (const Culprit& culprit : blame.culprits) culprits.push_back(CulpritJson(input, culprit));
  json["culprits"] = std::move(culprits);
  json["left_out_culprit"] =
      blame.left_out ? Json({{"rank", blame.left_out->rank}, {"caused_wait_total_ns", blame.left_out->caused_ns}})
                     : Json(nullptr);
  json["verdict"] = Name(verdict);
  json["unresolved"] = UnresolvedJson(input, unresolved);
  json["workload"] = WorkloadJson(input);
  json["wait_total_ns"] = blame.wait_ns;
  json["rank_time_ns"] = input.measures.RankTime();
  json["pair_wait_total_ns"] = blame.in_pairs_ns;
  json["tied_ranks"] = blame.tied_ranks;
  json["unassigned_wait_ns"] = blame.unassigned_ns;
  json["ranks_assumed_all"] = AssumesAllRanks(input.fleet);
  json["decided"] = parts.stragglers != nullptr ? Json(parts.stragglers->decides) : Json(nullptr);
  json["worst_collectives"] = WorstCollectives(input.fleet.match, parts.collectives);
  json["worst_tails"] = WorstTails(input, parts.tails);
  json["problems"] = Problems(parts.quality);
  json["next"] = NextSteps(input, {verdict, share, blame, parts});
  return json;
}

}  // namespace lockstep
