#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/kernels/kernels.h"
#include "analysis/model/common_range.h"
#include "analysis/model/row_values.h"
#include "analysis/report/views/percentiles.h"
#include "analysis/report/views/profile_parts.h"
#include "analysis/report/views/profile_places.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

constexpr size_t kMaxStepSeries = 64;  // kernels with a time for each step: the report stays small

// The rows of a source that hold the time of kernels by step: by name, then by step.
using StepTotals = std::map<uint32_t, std::vector<const StepKernelRow*>>;

StepTotals StepTotalsOf(const SourceData& source) {
  StepTotals totals;
  for (const StepKernelRow& row : source.step_kernels) totals[row.name].push_back(&row);
  return totals;
}

using PlaceOfStep = std::map<int64_t, size_t>;  // by number, into the profile's steps

void AddStepTimes(const std::vector<const StepKernelRow*>& rows, const PlaceOfStep& places,
                  report::ProfileKernel& kernel) {
  for (const StepKernelRow* row : rows) {
    const auto place = places.find(row->step);
    if (place == places.end()) continue;
    (*kernel.step_ns)[place->second].value += row->total_ns;
    kernel.step_instances->value += row->instances;
  }
}

std::optional<std::string> MangledOf(const ViewInput& input, const KernelGroup& group) {
  std::set<uint32_t> names;
  for (const auto& [member, row] : group.rows) names.insert(row->mangled);
  return names.size() == 1 ? TextIfAny(NameOf(input.fleet.run, *names.begin())) : std::nullopt;
}

std::optional<std::string> RangeOf(const ViewInput& input, const KernelGroup& group) {
  CommonRange common;
  for (const auto& [member, row] : group.rows) {
    for (const auto& [index, durations] : row->slices) common.Add(row->range, durations.count());
  }
  return TextIfAny(NameOf(input.fleet.run, common.Get()));
}

report::ProfileKernel KernelWithoutSteps(const ViewInput& input, const KernelGroup& group, ProfilePlaces& places) {
  report::ProfileKernel kernel;
  kernel.name = group.name;
  kernel.mangled = MangledOf(input, group);
  if (group.category) kernel.category = Name(*group.category);
  kernel.family = TextIfAny(group.family_name);
  kernel.range = RangeOf(input, group);
  kernel.ranks = group.by_rank.size();
  kernel.instances = group.instances;
  kernel.total_ns = group.total_ns;
  kernel.duration_ns = PercentilesOf(group.durations);
  places.AddTo(group, kernel);
  return kernel;
}

class StepSeries {
 public:
  StepSeries(const ViewInput& input, const std::vector<report::ProfileStep>& steps) : steps_(steps.size()) {
    for (size_t i = 0; i < steps.size(); ++i) places_.emplace(steps[i].step, i);
    for (const FleetRank& member : input.fleet.members) totals_.push_back(StepTotalsOf(*member.source));
  }

  // Nothing where a rank that ran the kernel does not keep its time by step.
  void AddTo(const KernelGroup& group, report::ProfileKernel& kernel) const {
    std::set<std::pair<size_t, uint32_t>> names;  // shapes of one name share its rows
    for (const auto& [member, row] : group.rows) names.emplace(member, row->name);
    const bool known = std::all_of(names.begin(), names.end(), [&](const std::pair<size_t, uint32_t>& name) {
      return totals_[name.first].contains(name.second);
    });
    if (!known || steps_ == 0) return;
    kernel.step_ns.emplace(steps_);
    kernel.step_instances.emplace();
    for (const auto& [member, name] : names) AddStepTimes(totals_[member].at(name), places_, kernel);
  }

 private:
  size_t steps_;
  PlaceOfStep places_;
  std::vector<StepTotals> totals_;  // parallel to the members
};

}  // namespace

absl::StatusOr<std::vector<report::ProfileKernel>> ProfileKernels(const ViewInput& input,
                                                                  const std::vector<report::ProfileStep>& steps) {
  LOCKSTEP_ASSIGN_OR_RETURN(const KernelSummary table, ComputeKernels(input.fleet, GroupBy::kFull));
  const StepSeries series(input, steps);
  ProfilePlaces places(input);
  std::vector<report::ProfileKernel> kernels;
  size_t with_series = 0;
  for (const KernelGroup& group : table.groups) {
    report::ProfileKernel& kernel = kernels.emplace_back(KernelWithoutSteps(input, group, places));
    if (with_series < kMaxStepSeries) series.AddTo(group, kernel);
    if (kernel.step_ns) ++with_series;
  }
  return kernels;
}

}  // namespace lockstep
