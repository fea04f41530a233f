#include "analysis/metrics/fleet/common_window.h"

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/metrics/fleet/interval_selection.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

// What captures leave out at an edge of the time asked for is at most this part of it.
constexpr int64_t kLeastOfLost = 32;

struct Intersection {
  int64_t start_ns = INT64_MIN;
  int64_t end_ns = INT64_MAX;
  void Clip(int64_t start, int64_t end) {
    start_ns = std::max(start_ns, start);
    end_ns = std::min(end_ns, end);
  }
  [[nodiscard]] int64_t Length() const { return start_ns < end_ns ? end_ns - start_ns : 0; }
};

// A step that so many members have, and the rows in which they have it.
struct SharedStep {
  Intersection windows;
  std::vector<size_t> rows;
};

std::vector<const FleetRank*> ActiveMembers(const Fleet& fleet) {
  std::vector<const FleetRank*> active;
  for (const FleetRank& member : fleet.members) {
    if (HasActivity(member.source->context)) active.push_back(&member);
  }
  return active;
}

int64_t MedianSpan(const std::vector<const FleetRank*>& members) {
  std::vector<int64_t> spans;
  for (const FleetRank* member : members) {
    spans.push_back(member->source->context.last_end_ns - member->source->context.first_start_ns);
  }
  std::sort(spans.begin(), spans.end());
  return spans[(spans.size() - 1) / 2];
}

// Empty, too, if most of them share only their number: ranks that do not wait for each other drift apart, and what a
// few steps at the beginning share says nothing of the run.
std::map<int64_t, SharedStep> StepsOfAll(const Fleet& fleet, const std::vector<const FleetRank*>& members) {
  std::map<int64_t, SharedStep> steps;
  for (size_t m = 0; m < members.size(); ++m) {
    const std::vector<StepRow>& rows = members[m]->source->steps;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].step == kNoStep || !fleet.SelectsStep(rows[i]) || rows[i].window_end_ns <= rows[i].window_start_ns) {
        continue;
      }
      SharedStep& step = steps[rows[i].step];
      if (step.rows.size() != m) continue;  // an earlier member lacks it, or the number repeats
      step.rows.push_back(i);
      step.windows.Clip(fleet.ToAligned(*members[m], rows[i].window_start_ns),
                        fleet.ToAligned(*members[m], rows[i].window_end_ns));
    }
  }
  // Unaligned clocks may lie further apart than a step is long: only inside one component must the windows overlap.
  const bool must_overlap = fleet.Components() == 1;
  std::erase_if(steps, [&](const auto& entry) { return entry.second.rows.size() != members.size(); });
  const size_t of_all = steps.size();
  std::erase_if(steps, [&](const auto& entry) { return must_overlap && entry.second.windows.Length() == 0; });
  if (2 * steps.size() < of_all && !fleet.SelectsSteps()) steps.clear();
  return steps;
}

bool Follows(const SharedStep& step, const SharedStep& previous) {
  for (size_t m = 0; m < step.rows.size(); ++m) {
    if (step.rows[m] != previous.rows[m] + 1) return false;
  }
  return true;
}

using StepIterator = std::map<int64_t, SharedStep>::const_iterator;

// Longest run of steps that are consecutive rows of every member; the earliest of equal ones.
std::pair<StepIterator, StepIterator> LongestRun(const std::map<int64_t, SharedStep>& steps) {
  std::pair<StepIterator, StepIterator> best{steps.begin(), steps.begin()};
  int64_t best_length = 0;
  for (auto first = steps.begin(); first != steps.end();) {
    auto last = first;
    int64_t length = 1;
    for (auto next = std::next(first); next != steps.end() && Follows(next->second, last->second); ++next, ++length) {
      last = next;
    }
    if (length > best_length) {
      best = {first, last};
      best_length = length;
    }
    first = std::next(last);
  }
  return best;
}

bool HoldsAllSelected(const Fleet& fleet, const std::vector<const FleetRank*>& active, const CommonWindow& window) {
  return std::all_of(active.begin(), active.end(), [&](const FleetRank* member) {
    const std::vector<std::pair<size_t, size_t>> runs = SelectedStepRuns(fleet, *member->source);
    return runs.size() == 1 && runs.front() == window.step_rows[static_cast<size_t>(member - fleet.members.data())];
  });
}

bool UseSteps(const Fleet& fleet, const std::vector<const FleetRank*>& active, CommonWindow& window) {
  if (fleet.options.time_ns) return false;
  const std::map<int64_t, SharedStep> steps = StepsOfAll(fleet, active);
  if (steps.empty()) return false;
  const auto [first, last] = LongestRun(steps);
  window.kind = WindowKind::kSteps;
  window.first_step = first->first;
  window.last_step = last->first;
  window.step_rows.assign(fleet.members.size(), {0, 0});
  window.start_ns = INT64_MAX;
  for (size_t m = 0; m < active.size(); ++m) {
    const size_t member = static_cast<size_t>(active[m] - fleet.members.data());
    const std::vector<StepRow>& rows = active[m]->source->steps;
    window.step_rows[member] = {first->second.rows[m], last->second.rows[m] + 1};
    const int64_t start = rows[first->second.rows[m]].window_start_ns;
    window.start_ns = std::min(window.start_ns, fleet.ToAligned(*active[m], start));
    const int64_t span = rows[last->second.rows[m]].window_end_ns - start;
    window.span_ns =
        std::max(window.span_ns, fleet.SelectsSteps() ? MeasureCommon(fleet, window, member).span_ns : span);
  }
  window.of_selection = fleet.SelectsSteps() && HoldsAllSelected(fleet, active, window);
  return true;
}

// Files are cut at the time itself: exact where the captures hold it but for less than whole buckets would leave out.
bool UseTime(const Fleet& fleet, const std::vector<const FleetRank*>& active, const Intersection& captures,
             CommonWindow& window) {
  const auto asked = fleet.TimeWindow();
  if (!asked || !fleet.TablesSelected()) return false;
  Intersection shared = captures;
  shared.Clip(asked->first, asked->second);
  if (shared.Length() == 0) return false;
  int64_t start_ns = INT64_MAX;
  int64_t span_ns = 0;
  for (const FleetRank* member : active) {
    const SourceContext& context = member->source->context;
    Intersection own;
    own.Clip(asked->first, asked->second);
    own.Clip(fleet.ToAligned(*member, context.first_start_ns), fleet.ToAligned(*member, context.last_end_ns));
    const int64_t lost = std::max(shared.start_ns - own.start_ns, own.end_ns - shared.end_ns);
    if (lost > std::min(context.bucket_ns, shared.Length() / kLeastOfLost)) return false;
    start_ns = std::min(start_ns, own.start_ns);
    span_ns = std::max(span_ns, own.Length());
  }
  window.kind = WindowKind::kTime;
  window.start_ns = start_ns;
  window.span_ns = span_ns;
  window.of_selection = true;
  return true;
}

// Start of the first bucket of a member inside the intersection, and how many whole ones follow.
struct OwnBuckets {
  int64_t start_ns = 0;
  int64_t count = 0;
};

OwnBuckets BucketsInside(const Fleet& fleet, const FleetRank& member, const Intersection& common, int64_t width) {
  const int64_t first = FloorIndex(fleet.ToLocal(member, common.start_ns) + width - 1, width);
  const int64_t last = FloorIndex(fleet.ToLocal(member, common.end_ns), width);
  return {first * width, last - first};
}

bool UseBuckets(const Fleet& fleet, const std::vector<const FleetRank*>& active, const Intersection& common,
                CommonWindow& window) {
  int64_t width = 0;
  for (const FleetRank* member : active) {
    if (member->source->context.bucket_ns <= 0) return false;
    width = std::max(width, member->source->context.bucket_ns);
  }
  int64_t count = INT64_MAX;
  for (const FleetRank* member : active) {
    count = std::min(count, BucketsInside(fleet, *member, common, width).count);
  }
  if (common.Length() < width || count <= 0) return false;
  window.kind = WindowKind::kBuckets;
  window.bucket_ns = width;
  window.span_ns = count * width;
  window.start_ns = INT64_MAX;
  for (const FleetRank& member : fleet.members) {
    const int64_t start = BucketsInside(fleet, member, common, width).start_ns;
    window.local_ns.emplace_back(start, start + window.span_ns);
    if (HasActivity(member.source->context)) {
      window.start_ns = std::min(window.start_ns, fleet.ToAligned(member, start));
    }
  }
  return true;
}

void UseSpans(const Fleet& fleet, const std::vector<const FleetRank*>& active, CommonWindow& window) {
  window.kind = active.size() == 1 ? WindowKind::kSpan : WindowKind::kDisjoint;
  window.start_ns = INT64_MAX;
  window.span_ns = 0;
  for (const FleetRank* member : active) {
    const SourceContext& context = member->source->context;
    window.start_ns = std::min(window.start_ns, fleet.ToAligned(*member, context.first_start_ns));
    window.span_ns = std::max(window.span_ns, context.last_end_ns - context.first_start_ns);
  }
}

// Of the time asked for each rank has its own part, never the whole capture. `common`: what of it all ranks share.
void UseOwnTime(const Fleet& fleet, const std::vector<const FleetRank*>& active, const Intersection& common,
                CommonWindow& window) {
  const auto asked = fleet.TimeWindow();
  if (!asked) return;
  window.of_selection = true;
  if (common.Length() > 0) window.kind = WindowKind::kTime;
  window.start_ns = asked->first;
  window.span_ns = 0;
  for (const FleetRank* member : active) {
    window.span_ns = std::max(window.span_ns, MeasureSelected(fleet, *member).span_ns);
  }
}

bool UseRanges(const Fleet& fleet, const std::vector<const FleetRank*>& active, CommonWindow& window) {
  if (fleet.options.nvtx.empty() || fleet.options.time_ns) return false;
  int64_t start_ns = INT64_MAX;
  for (const FleetRank* member : active) {
    for (const auto& [first, last] : SelectedStepRuns(fleet, *member->source)) {
      start_ns = std::min(start_ns, fleet.ToAligned(*member, member->source->steps[first].window_start_ns));
    }
    window.span_ns = std::max(window.span_ns, MeasureSelected(fleet, *member).span_ns);
  }
  if (start_ns == INT64_MAX) return true;  // nothing is selected: no window
  window.kind = WindowKind::kRanges;
  window.start_ns = start_ns;
  window.of_selection = true;
  return true;
}

}  // namespace

std::string_view Name(WindowKind kind) {
  switch (kind) {
    case WindowKind::kSteps:
      return "steps";
    case WindowKind::kBuckets:
      return "buckets";
    case WindowKind::kSpan:
      return "span";
    case WindowKind::kDisjoint:
      return "disjoint_spans";
    case WindowKind::kTime:
      return "time";
    case WindowKind::kRanges:
      return "ranges";
    case WindowKind::kNone:
      break;
  }
  return "none";
}

CommonWindow FindCommonWindow(const Fleet& fleet) {
  CommonWindow window;
  const std::vector<const FleetRank*> active = ActiveMembers(fleet);
  if (active.empty()) return window;
  Intersection common;
  for (const FleetRank* member : active) {
    const SourceContext& context = member->source->context;
    common.Clip(fleet.ToAligned(*member, context.first_start_ns), fleet.ToAligned(*member, context.last_end_ns));
  }
  window.intersection_ns = common.Length();
  window.median_span_ns = MedianSpan(active);
  if (UseRanges(fleet, active, window) || UseSteps(fleet, active, window)) return window;
  if (fleet.SelectsSteps() && !fleet.options.time_ns) return window;
  if (UseTime(fleet, active, common, window)) return window;
  if (const auto asked = fleet.TimeWindow()) common.Clip(asked->first, asked->second);
  if (active.size() == 1 && !fleet.Restricted()) {
    UseSpans(fleet, active, window);
  } else if (!UseBuckets(fleet, active, common, window)) {
    UseSpans(fleet, active, window);
    UseOwnTime(fleet, active, common, window);
  }
  return window;
}

IntervalMeasure MeasureCommon(const Fleet& fleet, const CommonWindow& window, size_t member) {
  const SourceData& source = *fleet.members[member].source;
  if (window.kind == WindowKind::kNone) return {};
  if (window.of_selection) return MeasureSelected(fleet, fleet.members[member]);
  if (window.kind == WindowKind::kBuckets) {
    const auto [start, end] = window.local_ns[member];
    return MeasureBuckets(source, start, end);
  }
  if (window.kind != WindowKind::kSteps) return MeasureWhole(source);
  const auto [first, last] = window.step_rows[member];
  if (fleet.SelectsSteps()) return last > first ? MeasureStepRun(source, first, last) : IntervalMeasure();
  IntervalMeasure sum;
  for (size_t i = first; i < last; ++i) sum.Add(source.steps[i].tile);
  return sum;
}

}  // namespace lockstep
