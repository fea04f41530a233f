#include "analysis/report/views/kernels_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/kernels/kernels.h"
#include "analysis/metrics/kernels/tails.h"
#include "analysis/report/json.h"
#include "analysis/report/views/percentiles.h"

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

Json KernelOfRankRow(const ViewInput& input, const KernelOfRank& rank, bool complete) {
  const Sketch& durations = rank.durations;
  const auto known = [&](int64_t value) { return complete ? Json(value) : Json(nullptr); };
  const auto quantile = [&](double q) {
    const auto estimate = durations.Quantile(q);
    return estimate ? Json(estimate->value) : Json(nullptr);
  };
  Json row;
  row["rank"] = input.RankOf(rank.member);
  row["instances"] = rank.instances;
  row["total_ns"] = rank.total_ns;
  row["min_ns"] = known(durations.min());
  row["max_ns"] = known(durations.max());
  row["mean_ns"] = static_cast<double>(rank.total_ns) / static_cast<double>(rank.instances);
  row["stddev_ns"] = complete ? Json(durations.stddev()) : Json(nullptr);
  row["p50_ns"] = quantile(0.5);
  row["p99_ns"] = quantile(0.99);
  return row;
}

void AddTail(const KernelGroup& group, int64_t time_ns, Json& row) {
  const auto score = ComputeTailScore(group.durations, time_ns);
  row["tail_score"] = score ? Json(score->value) : Json(nullptr);
  if (score && !group.durations.exact()) row["tail_score_bounds"] = {score->lower, score->upper};
  AddTailRatios(group.durations, row);
}

Json KernelRowOf(const ViewInput& input, const KernelGroup& group, const KernelSummary& table) {
  Json row;
  row["name"] = group.name;
  row["category"] = group.category ? Json(Name(*group.category)) : Json(nullptr);
  row["family"] = TextOrNull(group.family_name);
  row["ranks"] = group.by_rank.size();
  row["instances"] = group.instances;
  row["total_ns"] = group.total_ns;
  row["share_ratio"] = Ratio(group.total_ns, table.total_ns);
  row["duration_ns"] = Percentiles(group.durations, PercentileMedian::kInclude);
  AddTail(group, TimeOfTails(input.measures, table), row);
  const auto slowest = SlowestRank(group);
  row["slowest_rank"] = slowest ? Json(input.RankOf(*slowest)) : Json(nullptr);
  row["rank_imbalance_ratio"] = RankImbalance(group);
  Json by_rank = Json::array();
  for (const KernelOfRank& rank : group.by_rank) by_rank.push_back(KernelOfRankRow(input, rank, group.complete));
  row["by_rank"] = std::move(by_rank);
  return row;
}

}  // namespace

absl::StatusOr<Json> KernelsView(const ViewInput& input) {
  LOCKSTEP_ASSIGN_OR_RETURN(const KernelSummary table, ComputeKernels(input.fleet, input.fleet.options.group_by));
  NotifyOfSnapping(input, "kernels", table);
  NotifyOfRest(input, table);
  Json rows = Json::array();
  for (const KernelGroup& group : table.groups) rows.push_back(KernelRowOf(input, group, table));
  return rows;
}

absl::StatusOr<Json> FamiliesView(const ViewInput& input) {
  LOCKSTEP_ASSIGN_OR_RETURN(const KernelSummary table,
                            ComputeKernels(input.fleet, GroupBy::kFamily, StepFigures::kTotals));
  NotifyOfSnapping(input, "families", table);
  Json rows = Json::array();
  for (const KernelGroup& group : table.groups) {
    Json row;
    row["family"] = group.name;
    row["instances"] = group.instances;
    row["total_ns"] = group.total_ns;
    row["share_ratio"] = Ratio(group.total_ns, table.total_ns);
    Json by_rank = Json::array();
    for (const KernelOfRank& rank : group.by_rank) {
      by_rank.push_back({{"rank", input.RankOf(rank.member)}, {"total_ns", rank.total_ns}});
    }
    row["by_rank"] = std::move(by_rank);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace lockstep
