#include "analysis/metrics/kernels/kernel_selection.h"

#include <algorithm>
#include <set>

#include "analysis/base/saturating.h"
#include "analysis/metrics/fleet/interval_selection.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

// From the first start to the last end of the members of each run of selected steps.
std::vector<std::pair<int64_t, int64_t>> StepTimes(const Fleet& fleet, const SourceData& source) {
  std::vector<std::pair<int64_t, int64_t>> windows;
  for (const auto& [first, last] : SelectedStepRuns(fleet, source)) {
    int64_t start = INT64_MAX;
    int64_t end = INT64_MIN;
    for (size_t i = first; i < last; ++i) {
      if (source.steps[i].first_start_ns == kNoTime) continue;
      start = std::min(start, source.steps[i].first_start_ns);
      end = std::max(end, source.steps[i].last_end_ns);
    }
    if (start < end) windows.emplace_back(start, end);
  }
  return windows;
}

}  // namespace

KernelSelector::KernelSelector(const Fleet& fleet, const FleetRank& member, bool use_step_totals, SketchUse sketches)
    : source_(*member.source), sketches_(sketches), restricted_(fleet.TablesTooWide()) {
  if (!restricted_) return;
  if (const auto window = fleet.TimeWindowOf(member)) {
    windows_.push_back(*window);
    return;
  }
  if (!fleet.SelectsSteps()) return;
  windows_ = StepTimes(fleet, source_);
  if (!use_step_totals) return;
  steps_ = true;
  std::set<int64_t> selected;
  for (const StepRow& row : source_.steps) {
    if (fleet.SelectsStep(row)) selected.insert(row.step);
  }
  for (const StepKernelRow& row : source_.step_kernels) {
    auto& [instances, total] = exact_[row.name];
    if (!selected.contains(row.step)) continue;
    instances += row.instances;
    total += row.total_ns;
  }
}

KernelDurations KernelSelector::Of(const KernelRow& row) {
  KernelDurations durations;
  if (const auto exact = exact_.find(row.name); steps_ && !row.is_rest && exact != exact_.end()) {
    durations.instances = std::exchange(exact->second.first, 0);
    durations.total_ns = std::exchange(exact->second.second, 0);
    return durations;
  }
  durations.by_slice = restricted_;
  durations.distributed = true;
  for (const auto& [slice, sketch] : row.slices) {
    if (!Touches(slice)) continue;
    durations.instances = AddStopping(durations.instances, sketch.count());
    durations.total_ns = AddStopping(durations.total_ns, sketch.sum());
    if (sketches_ == SketchUse::kMerged) durations.sketch.Merge(sketch);
  }
  return durations;
}

int64_t KernelSelector::TimeOfSlices() const {
  const SourceContext& context = source_.context;
  if (!HasActivity(context)) return 0;
  const int64_t width = context.slice_ns;
  if (!restricted_ || width <= 0) return context.last_end_ns - context.first_start_ns;
  int64_t time_ns = 0;
  for (int64_t slice = FloorIndex(context.first_start_ns, width); slice * width < context.last_end_ns; ++slice) {
    if (!Touches(slice)) continue;
    time_ns += std::min((slice + 1) * width, context.last_end_ns) - std::max(slice * width, context.first_start_ns);
  }
  return time_ns;
}

bool KernelSelector::Touches(int64_t slice) const {
  const int64_t width = source_.context.slice_ns;
  if (!restricted_ || width <= 0) return true;
  return std::any_of(windows_.begin(), windows_.end(), [&](const std::pair<int64_t, int64_t>& window) {
    return window.first < window.second && slice >= FloorIndex(window.first, width) &&
           slice <= FloorIndex(window.second - 1, width);
  });
}

}  // namespace lockstep
