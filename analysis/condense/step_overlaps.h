// How long the work of steps that interleave runs at the same time (StepOverlapRow), while the sweep passes over the
// device's time.
//
// Fed like StepMeasures with what was launched in steps, and with the rows in the order in which they are given out. At
// every instant the steps with something running are in order of their numbers; of a selection A..B those in it follow
// one another, so what runs is counted once by adding each of them and taking away each pair of neighbours. That holds
// of each union of activity sets by itself. Memory is bounded: what is beyond the limits is not told at all. One
// thread, no I/O.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/condense/interval_sets.h"
#include "analysis/condense/step_table.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"
#include "analysis/model/step_row.h"

namespace lockstep {

class StepOverlaps {
 public:
  static constexpr size_t kMaxRunning = 64;  // steps with something running at one instant

  explicit StepOverlaps(const std::vector<StepRange>& steps);

  // Activities of positive length, by position of their step; those of no step (negative) are not counted.
  void Start(ActivitySet set, int32_t step);
  void End(ActivitySet set, int32_t step);
  void Segment(int64_t length_ns);
  void AddRow(const StepRow& row);

  // Ascending by (lower, upper). Empty where the rows themselves tell of every selection A..B, where numbers do not
  // ascend with the host's order, and beyond the limits. The collector is used up.
  [[nodiscard]] std::vector<StepOverlapRow> Take();

 private:
  static constexpr size_t kUnions = 8;
  using Lengths = std::array<int64_t, kUnions>;  // of the union of some sets each
  struct RunningStep {
    int32_t step = 0;
    ActiveCounts counts;
  };

  void AddNeighbours(size_t of_union, int64_t length_ns);
  [[nodiscard]] bool NumbersAscend() const;
  [[nodiscard]] StepOverlapRow RowOf(int32_t lower, int32_t upper, const IntervalMeasure& measure) const;

  const std::vector<StepRange>& steps_;
  std::vector<RunningStep> running_;  // ascending
  std::vector<IntervalMeasure> own_;  // by step
  std::map<std::pair<int32_t, int32_t>, Lengths> both_;
  bool given_up_ = false;
  bool interleave_ = false;
  int64_t last_number_ = kNoStep;
  int64_t reached_ns_ = INT64_MIN;  // by what was launched in rows before
};

}  // namespace lockstep
