#include "analysis/condense/step_measures.h"

#include <algorithm>

#include <utility>

#include "analysis/base/check.h"

namespace lockstep {

StepMeasures::StepMeasures(const std::vector<StepRange>& steps, std::function<void(int32_t, StepRow)> emit)
    : steps_(steps), emit_(std::move(emit)) {}

StepRow* StepMeasures::RowOf(int32_t step) {
  for (auto open = open_.rbegin(); open != open_.rend(); ++open) {
    if (open->step == step) return &open->row;
  }
  return nullptr;
}

void StepMeasures::OpenTile(int32_t step, int64_t t) {
  OpenRow open;
  open.step = step;
  open.row.window_start_ns = t;
  open.row.window_end_ns = t;
  if (step >= 0) {
    const StepRange& range = steps_[static_cast<size_t>(step)];
    open.row.step = range.number;
    open.row.name = range.name;
    open.row.host_start_ns = range.start_ns;
    open.row.host_end_ns = range.end_ns;
  }
  if (!open_.empty()) {
    open_.back().row.window_end_ns = t;
    Boundary boundary;
    boundary.step = step;
    boundary.measured_to_ns = t;
    boundary.old = members_;
    boundary.tail = tail_;
    boundaries_.push_back(boundary);
  }
  open_.push_back(std::move(open));
  if (boundaries_.size() > kBoundaries) RetireFront();
}

void StepMeasures::Reach(int32_t step, int64_t t) {
  if (open_.empty() || step > current()) OpenTile(step, t);
}

void StepMeasures::Start(ActivitySet set, int32_t step) {
  if (step < 0) {
    foreign_.Start(set);
    return;
  }
  members_.Start(set);
  tail_ = {};
  for (Boundary& boundary : boundaries_) {
    if (step < boundary.step) boundary.old.Start(set);
  }
}

void StepMeasures::End(ActivitySet set, int32_t step) {
  if (step < 0) {
    foreign_.End(set);
    return;
  }
  members_.End(set);
  for (Boundary& boundary : boundaries_) {
    if (step < boundary.step) boundary.old.End(set);
  }
}

void StepMeasures::Point(int32_t step, int64_t t) {
  if (step < 0) return;
  tail_ = {};
  for (Boundary& boundary : boundaries_) {
    if (step >= boundary.step) continue;
    if (t > boundary.measured_to_ns) AddSegment(boundary.after, {}, t - boundary.measured_to_ns);
    boundary.measured_to_ns = std::max(boundary.measured_to_ns, t);
    boundary.saw_old = true;
  }
}

void StepMeasures::Segment(int64_t from_ns, int64_t to_ns, const ActiveCounts& all) {
  const int64_t length = to_ns - from_ns;
  StepRow& tile = open_.back().row;
  AddSegment(tile.tile, all, length);
  if (!foreign_.None() && current() >= 0) {
    AddSegment(tile.foreign, all, length);
    IntervalMeasure without;
    AddSegment(without, members_, length);
    tile.foreign.Subtract(without);
  }
  if (members_.None()) AddSegment(tail_, members_, length);
  for (Boundary& boundary : boundaries_) SegmentAt(boundary, from_ns, to_ns);
}

void StepMeasures::SegmentAt(Boundary& boundary, int64_t from_ns, int64_t to_ns) {
  if (boundary.old.None()) return;
  const int64_t length = to_ns - from_ns;
  AddSegment(boundary.before, members_, length);
  IntervalMeasure without;
  AddSegment(without, members_ - boundary.old, length);
  boundary.before.Subtract(without);
  if (from_ns > boundary.measured_to_ns) AddSegment(boundary.after, {}, from_ns - boundary.measured_to_ns);
  AddSegment(boundary.after, boundary.old, length);
  boundary.measured_to_ns = to_ns;
  boundary.saw_old = true;
}

void StepMeasures::Idle(const Gap& gap) {
  LOCKSTEP_CHECK(!open_.empty());
  AddGap(open_.back().row.tile, gap, gap.begin_ns, gap.end_ns);
  AddGap(tail_, gap, gap.begin_ns, gap.end_ns);
  StepRow& row = open_.back().row;
  row.longest_gap_ns = std::max(row.longest_gap_ns, gap.end_ns - gap.begin_ns);
}

void StepMeasures::RetireFront() {
  const Boundary& boundary = boundaries_.front();
  if (boundary.saw_old) {
    open_[0].row.after = boundary.after;
  } else {
    open_[0].row.after.Subtract(boundary.tail);
  }
  open_[1].row.before = boundary.before;
  emit_(open_.front().step, std::move(open_.front().row));
  open_.pop_front();
  boundaries_.pop_front();
}

void StepMeasures::Finish(int64_t last_end_ns) {
  if (open_.empty()) return;
  open_.back().row.window_end_ns = last_end_ns;
  open_.back().row.after.Subtract(tail_);
  while (!boundaries_.empty()) RetireFront();
  emit_(open_.front().step, std::move(open_.front().row));
  open_.clear();
}

}  // namespace lockstep
