#include "analysis/metrics/kernels/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/kernels/kernel_selection.h"
#include "analysis/metrics/kernels/name_filter.h"
#include "analysis/metrics/run/family_names.h"

namespace lockstep {
namespace {

std::string ShapeSuffix(const LaunchShape& shape) {
  return fmt::format(" <<<({},{},{}),({},{},{})>>>", shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0],
                     shape.block[1], shape.block[2]);
}

std::string GroupName(const RunData& run, const KernelRow& row, GroupBy group_by) {
  if (group_by == GroupBy::kCategory) return std::string(Name(row.kind.category));
  if (row.is_rest) return std::string(kRestOfKernels);
  const std::string& name = NameOf(run, row.name);
  switch (group_by) {
    case GroupBy::kBase:
      return std::string(BaseName(name));
    case GroupBy::kMangled:
      return NameOf(run, row.mangled).empty() ? name : NameOf(run, row.mangled);
    case GroupBy::kShape:
      return row.has_shape ? name + ShapeSuffix(row.shape) : name;
    default:
      return name;
  }
}

void AddToGroup(KernelGroup& group, const KernelRow& row, const std::string& family, size_t member,
                const KernelDurations& durations) {
  if (group.instances == 0 && group.by_rank.empty()) {
    group.category = row.kind.category;
    group.family = row.kind.family;
    group.family_name = family;
  }
  if (group.category != row.kind.category) group.category.reset();
  if (group.family != row.kind.family) group.family.reset();
  if (group.family_name != family) group.family_name.clear();
  if (group.by_rank.empty() || group.by_rank.back().member != member) group.by_rank.push_back({member, 0, 0, {}});
  KernelOfRank& rank = group.by_rank.back();
  rank.instances += durations.instances;
  rank.total_ns += durations.total_ns;
  rank.durations.Merge(durations.sketch);
  group.instances += durations.instances;
  group.total_ns += durations.total_ns;
  group.complete = group.complete && durations.distributed;
  group.rows.emplace_back(member, &row);
}

void FinishGroup(KernelGroup& group) {
  for (KernelOfRank& rank : group.by_rank) {
    if (!group.complete) {
      rank.durations = Sketch();
    } else {
      group.durations.Merge(rank.durations);
    }
  }
}

}  // namespace

absl::StatusOr<KernelSummary> ComputeKernels(const Fleet& fleet, GroupBy group_by, StepFigures figures) {
  LOCKSTEP_ASSIGN_OR_RETURN(NameFilter filter, NameFilter::Make(fleet.run, fleet.options.kernels));
  const bool use_step_totals =
      figures != StepFigures::kDistributions && group_by != GroupBy::kShape && group_by != GroupBy::kMangled;
  FamilyNames families(fleet.run, fleet.options);
  std::map<std::string, KernelGroup> groups;
  KernelSummary table;
  for (size_t member = 0; member < fleet.members.size(); ++member) {
    const SourceData& source = *fleet.members[member].source;
    KernelSelector selector(fleet, fleet.members[member], use_step_totals,
                            figures == StepFigures::kTotals ? SketchUse::kNone : SketchUse::kMerged);
    if (fleet.TablesTooWide()) table.slices_ns = table.slices_ns.value_or(0) + selector.TimeOfSlices();
    for (const KernelRow& row : source.kernels) {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool passes, filter.Passes(row.name));
      if (!passes) continue;
      const KernelDurations durations = selector.Of(row);
      table.by_slice = table.by_slice || durations.by_slice;
      if (durations.instances == 0) continue;
      const std::string& family = families.Of(row);
      std::string name = group_by == GroupBy::kFamily ? family : GroupName(fleet.run, row, group_by);
      AddToGroup(groups[std::move(name)], row, family, member, durations);
    }
  }
  for (auto& [name, group] : groups) {
    group.name = name;
    FinishGroup(group);
    table.total_ns += group.total_ns;
    table.without_distribution = table.without_distribution || !group.complete;
    table.groups.push_back(std::move(group));
  }
  std::stable_sort(table.groups.begin(), table.groups.end(),
                   [](const KernelGroup& a, const KernelGroup& b) { return a.total_ns > b.total_ns; });
  return table;
}

std::optional<size_t> SlowestRank(const KernelGroup& group) {
  constexpr int64_t kEnough = 10;
  const bool some_have_enough = std::any_of(group.by_rank.begin(), group.by_rank.end(),
                                            [](const KernelOfRank& rank) { return rank.instances >= kEnough; });
  const KernelOfRank* slowest = nullptr;
  const auto mean = [](const KernelOfRank& rank) {
    return static_cast<double>(rank.total_ns) / static_cast<double>(rank.instances);
  };
  for (const KernelOfRank& rank : group.by_rank) {
    if (some_have_enough && rank.instances < kEnough) continue;
    if (slowest == nullptr || mean(rank) > mean(*slowest)) slowest = &rank;
  }
  if (slowest == nullptr) return std::nullopt;
  return slowest->member;
}

double RankImbalance(const KernelGroup& group) {
  int64_t largest = 0;
  for (const KernelOfRank& rank : group.by_rank) largest = std::max(largest, rank.total_ns);
  if (group.total_ns <= 0) return 0;
  const double mean = static_cast<double>(group.total_ns) / static_cast<double>(group.by_rank.size());
  return static_cast<double>(largest) / mean - 1;
}

std::optional<TailScore> ComputeTailScore(const Sketch& durations, int64_t rank_time_ns) {
  if (rank_time_ns <= 0) return std::nullopt;
  const std::optional<QuantileEstimate> p50 = durations.Quantile(0.5);
  if (!p50) return std::nullopt;
  const Sketch::Excess excess = durations.ExcessOver(2 * p50->value, p50->value);
  const double time = static_cast<double>(rank_time_ns);
  return TailScore{static_cast<double>(excess.value) / time, static_cast<double>(excess.lower) / time,
                   static_cast<double>(excess.upper) / time};
}

}  // namespace lockstep
