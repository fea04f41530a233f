#include "analysis/report/views/views.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/kernels/kernels.h"
#include "analysis/metrics/kernels/tails.h"
#include "analysis/report/views/percentiles.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

void NotifyOfSnapping(const ViewInput& input, std::string_view view, const KernelSummary& table) {
  if (table.by_slice) {
    input.Notify(view, input.fleet.options.time_ns
                           ? "--time is snapped outward to the time slices of the condensed data"
                           : "kernels that are not kept per step are counted by the time slices that touch the steps");
  }
  if (table.without_distribution) {
    input.Notify(view,
                 "a selection of steps gives exact counts and totals, without percentiles, for the largest kernels");
  }
}

void NotifyOfRest(const ViewInput& input, const KernelSummary& table) {
  const auto rest = std::find_if(table.groups.begin(), table.groups.end(),
                                 [](const KernelGroup& group) { return group.name == kRestOfKernels; });
  if (rest == table.groups.end()) return;
  input.Notify("kernels", fmt::format("{} instances of names or shapes beyond the limits of the condensed data are one "
                                      "row, {}",
                                      rest->instances, kRestOfKernels));
}

report::KernelOfRank KernelOfRankRow(const ViewInput& input, const KernelOfRank& rank, bool complete) {
  const Sketch& durations = rank.durations;
  return {.rank = input.RankOf(rank.member),
          .instances = rank.instances,
          .total_ns = rank.total_ns,
          .min_ns = KnownIf(complete, durations.min()),
          .max_ns = KnownIf(complete, durations.max()),
          .mean_ns = static_cast<double>(rank.total_ns) / static_cast<double>(rank.instances),
          .stddev_ns = KnownIf(complete, durations.stddev()),
          .p50_ns = QuantileOf(durations, 0.5),
          .p99_ns = QuantileOf(durations, 0.99)};
}

void AddTail(const KernelGroup& group, int64_t time_ns, report::KernelRow& row) {
  if (const auto score = ComputeTailScore(group.durations, time_ns)) {
    row.tail_score = score->value;
    if (!group.durations.exact()) row.tail_score_bounds = std::pair(score->lower, score->upper);
  }
  static_cast<report::TailRatios&>(row) = TailRatiosOf(group.durations);
}

report::KernelRow KernelRowOf(const ViewInput& input, const KernelGroup& group, const KernelSummary& table) {
  report::KernelRow row;
  row.name = group.name;
  if (group.category) row.category = Name(*group.category);
  row.family = TextIfAny(group.family_name);
  row.ranks = group.by_rank.size();
  row.instances = group.instances;
  row.total_ns = group.total_ns;
  row.share_ratio = ShareOf(group.total_ns, table.total_ns);
  row.duration_ns = PercentilesOf(group.durations, PercentileMedian::kInclude);
  AddTail(group, TimeOfTails(input.measures, table), row);
  if (const auto slowest = SlowestRank(group)) row.slowest_rank = input.RankOf(*slowest);
  row.rank_imbalance_ratio = RankImbalance(group);
  for (const KernelOfRank& rank : group.by_rank) row.by_rank.push_back(KernelOfRankRow(input, rank, group.complete));
  return row;
}

}  // namespace

absl::StatusOr<std::vector<report::KernelRow>> KernelsView(const ViewInput& input) {
  LOCKSTEP_ASSIGN_OR_RETURN(const KernelSummary table, ComputeKernels(input.fleet, input.fleet.options.group_by));
  NotifyOfSnapping(input, "kernels", table);
  NotifyOfRest(input, table);
  std::vector<report::KernelRow> rows;
  rows.reserve(table.groups.size());
  for (const KernelGroup& group : table.groups) rows.push_back(KernelRowOf(input, group, table));
  return rows;
}

absl::StatusOr<std::vector<report::FamilyRow>> FamiliesView(const ViewInput& input) {
  LOCKSTEP_ASSIGN_OR_RETURN(const KernelSummary table,
                            ComputeKernels(input.fleet, GroupBy::kFamily, StepFigures::kTotals));
  NotifyOfSnapping(input, "families", table);
  std::vector<report::FamilyRow> rows;
  for (const KernelGroup& group : table.groups) {
    report::FamilyRow& row = rows.emplace_back();
    row.family = group.name;
    row.instances = group.instances;
    row.total_ns = group.total_ns;
    row.share_ratio = ShareOf(group.total_ns, table.total_ns);
    for (const KernelOfRank& rank : group.by_rank) row.by_rank.push_back({input.RankOf(rank.member), rank.total_ns});
  }
  return rows;
}

}  // namespace lockstep
