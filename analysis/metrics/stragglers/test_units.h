// The units of the test for lateness: the steps of the trace, else blocks of time. Pure. Units: ns.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/match/chapter.h"
#include "analysis/model/row_values.h"

namespace lockstep {

struct TestUnits {
  bool are_steps = false;
  std::vector<int64_t> steps;  // ascending, of usable instances; empty for blocks
  int64_t origin_ns = 0;       // of block 0
  int64_t unit_ns = 0;         // typical length of a step, or the length of a block; 0 = nothing to test
  size_t count = 0;
  std::vector<int64_t> start_ns;  // of each unit, aligned: its first arrival

  [[nodiscard]] bool CanTest() const { return count >= 2 && unit_ns > 0; }
  // -1: of no unit.
  [[nodiscard]] int64_t UnitOf(const MatchedInstance& instance) const;
};

// What is known of a run before its chapters pass by.
struct RunExtent {
  int64_t span_ns = 0;     // 0 = one chapter is the run
  int64_t start_ns = 0;    // aligned
  bool has_steps = false;  // its first rows show some
};

// Numbers the units in the order in which they are met while the chapters of a run pass by. Where the first rows show
// no steps, the first chapter with usable instances decides whether steps are the units, and how long blocks are: as
// short as makes fifty of the run.
class UnitNumbers {
 public:
  explicit UnitNumbers(const RunExtent& extent)
      : span_ns_(extent.span_ns),
        start_ns_(extent.start_ns),
        kind_(extent.has_steps ? Kind::kSteps : Kind::kUndecided) {}
  // Before the chapter's instances are asked for.
  void Open(const Chapter& chapter, const ArrivalGraph& graph);
  // Of an instance of the chapter that was opened last; -1: of no unit.
  [[nodiscard]] int64_t NumberOf(const MatchedInstance& instance);

  struct Result {
    TestUnits units;
    std::vector<size_t> order;  // number of each unit
  };
  [[nodiscard]] Result Finish() const;

 private:
  struct Step {
    size_t number = 0;
    int64_t start_ns = 0;
  };
  enum class Kind : uint8_t { kUndecided, kSteps, kBlocks };

  void Decide(const Chapter& chapter, const ArrivalGraph& graph);
  void AddSteps(const Chapter& chapter, const ArrivalGraph& graph);
  [[nodiscard]] Result FinishBlocks() const;

  int64_t span_ns_ = 0;
  int64_t start_ns_ = 0;
  Kind kind_;
  std::map<int64_t, Step> steps_;  // by step
  TestUnits blocks_;
  int64_t first_ns_ = INT64_MAX;  // last arrivals of usable instances: the first of them
  int64_t last_ns_ = INT64_MIN;   // and the last
  int64_t met_step_ = kNoStep;    // the step asked for last
  int64_t met_number_ = -1;
};

}  // namespace lockstep
