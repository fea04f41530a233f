#include "analysis/metrics/fleet/interval_selection.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

int64_t SumOfPartsNs(const IntervalMeasure& m) {
  return m.compute_ns + m.exposed_comm_ns() + m.copy_only_ns + m.opaque_only_ns + m.idle_ns();
}

// First start and last end of the members of steps; equal when none has a member.
std::pair<int64_t, int64_t> MemberExtent(const SourceData& source, size_t first, size_t last) {
  int64_t start = kNoTime;
  int64_t end = kNoTime;
  for (size_t i = first; i < last; ++i) {
    const StepRow& row = source.steps[i];
    if (row.first_start_ns == kNoTime || row.last_end_ns == kNoTime) continue;
    start = start == kNoTime ? row.first_start_ns : std::min(start, row.first_start_ns);
    end = std::max(end, row.last_end_ns);
  }
  return start == kNoTime ? std::pair<int64_t, int64_t>() : std::pair(start, end);
}

// Time between steps in which nothing was recorded: the profiler had stopped.
int64_t PausesNs(const SourceData& source, size_t first, size_t last) {
  int64_t sum = 0;
  for (size_t i = first; i + 1 < last; ++i) {
    sum += std::max<int64_t>(0, source.steps[i + 1].window_start_ns - source.steps[i].window_end_ns);
  }
  return sum;
}

int64_t MemberSpan(const SourceData& source, size_t first, size_t last) {
  const auto [start, end] = MemberExtent(source, first, last);
  return std::max<int64_t>(0, end - start - PausesNs(source, first, last));
}

// What the rows tell, parts not yet made to tile.
IntervalMeasure SumStepRun(const SourceData& source, size_t first, size_t last) {
  IntervalMeasure sum;
  for (size_t i = first; i < last; ++i) {
    sum.Add(source.steps[i].tile);
    sum.Subtract(source.steps[i].foreign);
  }
  sum.Subtract(source.steps[first].before);
  sum.Add(source.steps[last - 1].after);
  return sum;
}

using Stretches = std::vector<std::pair<size_t, size_t>>;

bool DoRowsTell(const SourceData& source, const Stretches& stretches) {
  int64_t reached_ns = INT64_MIN;   // by the stretches before
  int64_t launched_ns = INT64_MIN;  // reached by what rows before were launched in any step
  size_t passed = 0;
  for (const auto& [first, last] : stretches) {
    for (; passed < first; ++passed) {
      const StepRow& row = source.steps[passed];
      if (row.step != kNoStep) launched_ns = std::max(launched_ns, row.last_end_ns);
    }
    const auto [start, end] = MemberExtent(source, first, last);
    if (start < reached_ns) return false;
    if (last < source.steps.size() && launched_ns > source.steps[last - 1].window_end_ns) return false;
    reached_ns = std::max(reached_ns, end);
  }
  return true;
}

// First and last number of the selected steps, if all between them are selected and their overlaps are known.
std::optional<std::pair<int64_t, int64_t>> NumbersThatOverlapsTell(const Fleet& fleet, const SourceData& source) {
  if (source.summary.step_overlaps.empty()) return std::nullopt;
  std::pair<int64_t, int64_t> numbers = {INT64_MAX, INT64_MIN};
  for (const StepRow& row : source.steps) {
    if (!fleet.SelectsStep(row)) continue;
    numbers = {std::min(numbers.first, row.step), std::max(numbers.second, row.step)};
  }
  const bool between = std::any_of(source.steps.begin(), source.steps.end(), [&](const StepRow& row) {
    return row.step >= numbers.first && row.step <= numbers.second && !fleet.SelectsStep(row);
  });
  if (between || numbers.first > numbers.second) return std::nullopt;
  return numbers;
}

// Time from the first start to the last end of each stretch; where they overlap it counts once.
int64_t SpanOfStretches(const SourceData& source, const Stretches& stretches) {
  std::vector<std::pair<int64_t, int64_t>> extents;
  for (const auto& [first, last] : stretches) extents.push_back(MemberExtent(source, first, last));
  std::sort(extents.begin(), extents.end());
  int64_t span_ns = 0;
  int64_t reached_ns = INT64_MIN;
  for (const auto& [start, end] : extents) {
    if (end > reached_ns) span_ns += end - std::max(start, reached_ns);
    reached_ns = std::max(reached_ns, end);
  }
  for (const auto& [first, last] : stretches) span_ns -= PausesNs(source, first, last);
  return std::max<int64_t>(0, span_ns);
}

IntervalMeasure MeasureByOverlaps(const SourceData& source, const Stretches& stretches,
                                  std::pair<int64_t, int64_t> numbers) {
  IntervalMeasure sum;
  for (const StepOverlapRow& row : source.summary.step_overlaps) {
    if (row.lower < numbers.first || row.upper > numbers.second) continue;
    if (row.lower == row.upper) {
      sum.Add(row.measure);
    } else {
      sum.Subtract(row.measure);
    }
  }
  IntervalMeasure idle;
  for (const auto& [first, last] : stretches) idle.Add(SumStepRun(source, first, last));
  sum.idle_host_ns = std::max<int64_t>(idle.idle_host_ns, 0);
  sum.idle_launch_ns = std::max<int64_t>(idle.idle_launch_ns, 0);
  sum.idle_dependency_ns = std::max<int64_t>(idle.idle_dependency_ns, 0);
  sum.idle_other_ns = 0;
  CloseIdentity(sum, SpanOfStretches(source, stretches));
  return sum;
}

IntervalMeasure MeasureSteps(const Fleet& fleet, const SourceData& source) {
  const Stretches stretches = SelectedStepRuns(fleet, source);
  if (!DoRowsTell(source, stretches)) {
    const auto numbers = NumbersThatOverlapsTell(fleet, source);
    if (numbers) return MeasureByOverlaps(source, stretches, *numbers);
  }
  IntervalMeasure sum;
  for (const auto& [first, last] : stretches) sum.Add(MeasureStepRun(source, first, last));
  return sum;
}

}  // namespace

bool NothingRan(const Fleet& fleet) {
  return std::none_of(fleet.members.begin(), fleet.members.end(),
                      [](const FleetRank& member) { return HasActivity(member.source->context); });
}

BucketRange BucketsTouching(int64_t bucket_ns, std::pair<int64_t, int64_t> window_ns) {
  if (bucket_ns <= 0 || window_ns.second <= window_ns.first) return {};
  return {FloorIndex(window_ns.first, bucket_ns), FloorIndex(window_ns.second - 1, bucket_ns) + 1};
}

IntervalMeasure MeasureWhole(const SourceData& source) {
  IntervalMeasure sum;
  for (const StepRow& row : source.steps) sum.Add(row.tile);
  return sum;
}

IntervalMeasure MeasureStepRun(const SourceData& source, size_t first, size_t last) {
  IntervalMeasure sum = SumStepRun(source, first, last);
  CloseIdentity(sum, MemberSpan(source, first, last));
  return sum;
}

IntervalMeasure MeasureSelected(const Fleet& fleet, const FleetRank& member) {
  const SourceData& source = *member.source;
  IntervalMeasure sum;
  if (const auto window = fleet.TimeWindowOf(member)) {
    const BucketRange range = BucketsTouching(source.context.bucket_ns, *window);
    for (const BucketRow& row : source.buckets) {
      if (row.index >= range.first && row.index < range.last) sum.Add(row.measure);
    }
    return sum;
  }
  return fleet.SelectsSteps() ? MeasureSteps(fleet, source) : MeasureWhole(source);
}

IntervalMeasure MeasureBuckets(const SourceData& source, int64_t start_ns, int64_t end_ns) {
  IntervalMeasure sum;
  const int64_t width = source.context.bucket_ns;
  if (width <= 0 || end_ns <= start_ns) return sum;
  const int64_t first = FloorIndex(start_ns + width - 1, width);
  const int64_t last = FloorIndex(end_ns, width);
  for (const BucketRow& row : source.buckets) {
    if (row.index >= first && row.index < last) sum.Add(row.measure);
  }
  const int64_t unrecorded = (last - first) * width - sum.span_ns;
  if (last > first && unrecorded > 0) {
    sum.span_ns += unrecorded;
    sum.idle_other_ns += unrecorded;
  }
  return sum;
}

std::vector<std::pair<size_t, size_t>> SelectedStepRuns(const Fleet& fleet, const SourceData& source) {
  std::vector<std::pair<size_t, size_t>> runs;
  for (size_t i = 0; i < source.steps.size(); ++i) {
    if (!fleet.SelectsStep(source.steps[i])) continue;
    if (!runs.empty() && runs.back().second == i) {
      runs.back().second = i + 1;
    } else {
      runs.emplace_back(i, i + 1);
    }
  }
  return runs;
}

bool IsStepSelectionExact(const Fleet& fleet, const SourceData& source) {
  return DoRowsTell(source, SelectedStepRuns(fleet, source)) || NumbersThatOverlapsTell(fleet, source).has_value();
}

void CloseIdentity(IntervalMeasure& measure, int64_t span_ns) {
  measure.span_ns = span_ns;
  int64_t missing = span_ns - SumOfPartsNs(measure);
  if (missing >= 0) {
    measure.idle_other_ns += missing;
    return;
  }
  for (int64_t* idle :
       {&measure.idle_other_ns, &measure.idle_dependency_ns, &measure.idle_launch_ns, &measure.idle_host_ns}) {
    const int64_t taken = std::min(std::max<int64_t>(*idle, 0), -missing);
    *idle -= taken;
    missing += taken;
  }
}

}  // namespace lockstep
