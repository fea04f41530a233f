// The interval measures of each step while the sweep passes over the device's time (see StepRow for the meaning of
// tile, before, after and foreign).
//
// Fed by the sweep in order of time: Start/End of activities, Segment with something running, Gap with nothing running.
// A boundary watches the first activities of later steps for leftovers of earlier ones; the last kBoundaries of them
// are kept, so a leftover that starts more than that many steps late is not corrected for. One thread, no I/O.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "analysis/condense/gap.h"
#include "analysis/condense/interval_sets.h"
#include "analysis/condense/step_table.h"
#include "analysis/model/batch.h"

namespace lockstep {

class StepMeasures {
 public:
  static constexpr size_t kBoundaries = 4;
  static constexpr int32_t kForeign = -1;

  // Rows are given out in order once nothing can change them any more.
  StepMeasures(const std::vector<StepRange>& steps, std::function<void(int32_t, StepRow)> emit);

  // Position in the step table of the tile in progress; kForeign before the first step.
  [[nodiscard]] int32_t current() const { return open_.empty() ? kForeign : open_.back().step; }
  [[nodiscard]] StepRow& row() { return open_.back().row; }
  // The row of an earlier step that is still open, or null.
  [[nodiscard]] StepRow* RowOf(int32_t step);

  // An activity of this step starts at t: opens new tiles as needed. Call before Start.
  void Reach(int32_t step, int64_t t);
  // `step` is the activity's step by launch; kForeign when launched in none (or before the first step).
  void Start(ActivitySet set, int32_t step);
  void End(ActivitySet set, int32_t step);
  // A zero-length activity: covers nothing, but the span of its step reaches to it.
  void Point(int32_t step, int64_t t);
  void Segment(int64_t from_ns, int64_t to_ns, const ActiveCounts& all);
  void Idle(const Gap& gap);
  void Finish(int64_t last_end_ns);

 private:
  struct OpenRow {
    int32_t step = kForeign;
    StepRow row;
  };
  // The start of a tile. Members of earlier steps are "old" beyond it.
  struct Boundary {
    int32_t step = 0;
    int64_t measured_to_ns = 0;  // up to where `after` has been measured
    ActiveCounts old;
    bool saw_old = false;
    IntervalMeasure before;
    IntervalMeasure after;
    IntervalMeasure tail;  // idle just before the boundary, since the last member ended
  };

  void OpenTile(int32_t step, int64_t t);
  void SegmentAt(Boundary& boundary, int64_t from_ns, int64_t to_ns);
  void RetireFront();

  const std::vector<StepRange>& steps_;
  std::function<void(int32_t, StepRow)> emit_;
  std::deque<OpenRow> open_;  // one more than boundaries_: boundary i stands between rows i and i + 1
  std::deque<Boundary> boundaries_;
  ActiveCounts members_;  // running activities of some step
  ActiveCounts foreign_;  // running activities of no step
  IntervalMeasure tail_;  // idle as members see it, since the last member ended
};

}  // namespace lockstep
