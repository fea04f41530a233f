// The interval measures of each step while the sweep passes over the device's time (see StepRow for the meaning of
// tile, before, after and foreign).
//
// Fed by the sweep in order of time: Start/End of activities, Segment with something running, Gap with nothing running.
// Tiles follow one another by the first activity of their step, in whatever order the host began the steps: every step
// with an activity has a row. What the activities of earlier tiles add beyond the start of a later one is exact however
// late they run: the sums over all boundaries are kept as differences between neighbours, so a segment costs as much as
// different steps run in it. A row is given out once nothing can change it and all before it any more; where it is not
// known how many activities a step has, at the end. One thread, no I/O.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "analysis/condense/gap.h"
#include "analysis/condense/interval_sets.h"
#include "analysis/condense/step_table.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/step_row.h"

namespace lockstep {

class StepMeasures {
 public:
  static constexpr int32_t kForeign = -1;

  // Rows are given out in order of their windows. `activities`: how many activities were launched in each step; empty:
  // not known.
  StepMeasures(const std::vector<StepRange>& steps, std::vector<uint32_t> activities,
               std::function<void(int32_t, StepRow)> emit);

  // Position in the step table of the tile in progress; kForeign before the first step.
  [[nodiscard]] int32_t current() const { return open_.empty() ? kForeign : open_.back().step; }
  // The row of a step that has begun and is not given out yet, or null.
  [[nodiscard]] StepRow* RowOf(int32_t step);

  // Whether an activity of this step would be its first, and recording was resumed for it.
  [[nodiscard]] bool Resumes(int32_t step) const;
  // Nothing was recorded from t, the end of the last activity, on: the tile in progress ends there.
  void Pause(int64_t t);
  // An activity launched in this step, or in none, starts at t: opens its tile at the first one. Call before Start; not
  // of activities that are counted for the tile in progress because their launch is not known.
  void Reach(int32_t step, int64_t t);
  // `step` is the activity's step by launch; kForeign when launched in none (or before the first step).
  void Start(ActivitySet set, int32_t step, int64_t end_ns);
  void End(ActivitySet set, int32_t step);
  // A zero-length activity: covers nothing, but the span of its step reaches to it.
  void Point(int32_t step, int64_t t);
  void Segment(int64_t from_ns, int64_t to_ns, const ActiveCounts& all);
  void Idle(const Gap& gap);
  void Finish(int64_t last_end_ns);

 private:
  // A tile, and what is known of the boundary at its start. Of that boundary `before` (of this row) and `after` (of the
  // row before) are kept as differences to those of the boundary before it.
  struct OpenTile {
    int32_t step = kForeign;
    uint32_t to_come = 0;             // activities that have not started
    int64_t last_end_ns = INT64_MIN;  // of the members that have started
    StepRow row;
    IntervalMeasure before;
    IntervalMeasure after;
    IntervalMeasure tail;  // idle just before the start, since the last member of any step ended
  };
  // Running activities of one tile.
  struct RunningTile {
    int64_t tile = 0;
    ActiveCounts counts;
  };
  static constexpr int64_t kNotBegun = -1;

  void Open(int32_t step, int64_t t);
  [[nodiscard]] int64_t TileOf(int32_t step) const { return tile_of_step_[static_cast<size_t>(step)]; }
  [[nodiscard]] int64_t last_tile() const { return first_tile_ + static_cast<int64_t>(open_.size()) - 1; }
  [[nodiscard]] OpenTile& At(int64_t tile) { return open_[static_cast<size_t>(tile - first_tile_)]; }
  void Extend(int32_t step, int64_t end_ns);
  void AddLeftovers(int64_t length_ns);
  // At the boundaries [first, last]: `old` has run beyond them for that long, among all members.
  void AddBetween(int64_t first, int64_t last, const ActiveCounts& old, int64_t length_ns);
  [[nodiscard]] bool IsDone(const OpenTile& tile) const;
  void GiveOutDone();
  void GiveOutFront();

  const std::vector<StepRange>& steps_;
  std::vector<uint32_t> activities_;
  std::function<void(int32_t, StepRow)> emit_;
  std::vector<int64_t> tile_of_step_;
  std::deque<OpenTile> open_;
  int64_t first_tile_ = 0;  // of open_
  // Sums of the differences: of the boundaries given out, and of all.
  IntervalMeasure before_given_;
  IntervalMeasure after_given_;
  IntervalMeasure before_all_;
  IntervalMeasure after_all_;
  int64_t reached_ns_ = INT64_MIN;    // last end of the members of tiles given out
  std::vector<RunningTile> running_;  // ascending
  ActiveCounts members_;              // running activities of some step
  ActiveCounts foreign_;              // running activities of no step
  IntervalMeasure tail_;              // idle as members see it, since the last member ended
  bool paused_ = false;               // the tile in progress has ended
};

}  // namespace lockstep
