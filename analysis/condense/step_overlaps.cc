#include "analysis/condense/step_overlaps.h"

#include <algorithm>

#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

// The unions of activity sets of which the fields of an interval measure are sums and differences.
enum Union : uint8_t { kC, kM, kY, kG, kCM, kCY, kCMY, kAny };
constexpr auto kCompute = ActivitySet::kCompute;
constexpr auto kComm = ActivitySet::kComm;
constexpr auto kCopy = ActivitySet::kCopy;

bool Touches(const ActiveCounts& running, size_t of_union) {
  switch (of_union) {
    case kC:
      return running.Has(kCompute);
    case kM:
      return running.Has(kComm);
    case kY:
      return running.Has(kCopy);
    case kG:
      return running.Has(ActivitySet::kOpaque);
    case kCM:
      return running.Has(kCompute) || running.Has(kComm);
    case kCY:
      return running.Has(kCompute) || running.Has(kCopy);
    case kCMY:
      return running.Has(kCompute) || running.Has(kComm) || running.Has(kCopy);
    default:
      return !running.None();
  }
}

template <typename Lengths>
IntervalMeasure MeasureOf(const Lengths& length) {
  IntervalMeasure measure;
  measure.span_ns = length[kAny];
  measure.compute_ns = length[kC];
  measure.comm_ns = length[kM];
  measure.copy_ns = length[kY];
  measure.opaque_ns = length[kG];
  measure.overlap_ns = length[kC] + length[kM] - length[kCM];
  measure.strict_exposed_comm_ns = length[kCMY] - length[kCY];
  measure.copy_only_ns = length[kCMY] - length[kCM];
  measure.opaque_only_ns = length[kAny] - length[kCMY];
  return measure;
}

}  // namespace

StepOverlaps::StepOverlaps(const std::vector<StepRange>& steps) : steps_(steps), own_(steps.size()) {}

void StepOverlaps::Start(ActivitySet set, int32_t step) {
  if (step < 0 || given_up_) return;
  const auto place = std::find_if(running_.begin(), running_.end(), [&](const auto& r) { return r.step >= step; });
  if (place != running_.end() && place->step == step) {
    place->counts.Start(set);
    return;
  }
  given_up_ = running_.size() == kMaxRunning;
  if (!given_up_) running_.insert(place, {step, {}})->counts.Start(set);
}

void StepOverlaps::End(ActivitySet set, int32_t step) {
  if (step < 0 || given_up_) return;
  const auto place = std::find_if(running_.begin(), running_.end(), [&](const auto& r) { return r.step == step; });
  place->counts.End(set);
  if (place->counts.None()) running_.erase(place);
}

void StepOverlaps::Segment(int64_t length_ns) {
  if (given_up_) return;
  for (const RunningStep& running : running_) {
    AddSegment(own_[static_cast<size_t>(running.step)], running.counts, length_ns);
  }
  for (size_t i = 0; i < kUnions && running_.size() > 1; ++i) AddNeighbours(i, length_ns);
  given_up_ = both_.size() > kMaxStepOverlaps;
}

void StepOverlaps::AddNeighbours(size_t of_union, int64_t length_ns) {
  int32_t before = -1;
  for (const RunningStep& running : running_) {
    if (!Touches(running.counts, of_union)) continue;
    if (before >= 0) both_[{before, running.step}][of_union] += length_ns;
    before = running.step;
  }
}

// Rows tell of any selection A..B where they are in order and no work runs on beyond the window of a later one.
void StepOverlaps::AddRow(const StepRow& row) {
  if (row.step == kNoStep) return;
  if (row.step <= last_number_ || reached_ns_ > row.window_end_ns) interleave_ = true;
  last_number_ = std::max(last_number_, row.step);
  reached_ns_ = std::max(reached_ns_, row.last_end_ns);
}

bool StepOverlaps::NumbersAscend() const {
  return std::adjacent_find(steps_.begin(), steps_.end(), [](const StepRange& a, const StepRange& b) {
           return a.number >= b.number;
         }) == steps_.end();
}

StepOverlapRow StepOverlaps::RowOf(int32_t lower, int32_t upper, const IntervalMeasure& measure) const {
  return {steps_[static_cast<size_t>(lower)].number, steps_[static_cast<size_t>(upper)].number, measure};
}

std::vector<StepOverlapRow> StepOverlaps::Take() {
  std::vector<StepOverlapRow> rows;
  if (given_up_ || !interleave_ || !NumbersAscend()) return rows;
  for (int32_t step = 0; const IntervalMeasure& measure : own_) {
    if (measure.span_ns > 0) rows.push_back(RowOf(step, step, measure));
    ++step;
  }
  for (const auto& [steps, lengths] : both_) rows.push_back(RowOf(steps.first, steps.second, MeasureOf(lengths)));
  if (rows.size() > kMaxStepOverlaps) return {};
  std::sort(rows.begin(), rows.end(), [](const StepOverlapRow& a, const StepOverlapRow& b) {
    return std::pair(a.lower, a.upper) < std::pair(b.lower, b.upper);
  });
  return rows;
}

}  // namespace lockstep
