// The units of the test for lateness: the steps of the trace, else blocks of time. Pure. Units: ns.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/match/chapter.h"

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

// Numbers the units in the order in which they are met while the chapters of a run pass by. The first chapter with
// usable instances decides whether steps are the units, and how long blocks are: as short as makes fifty of the run.
class UnitNumbers {
 public:
  // `span_ns`: length of the run; 0 = the first chapter is the run.
  explicit UnitNumbers(int64_t span_ns) : span_ns_(span_ns) {}
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

  int64_t span_ns_ = 0;
  Kind kind_ = Kind::kUndecided;
  std::map<int64_t, Step> steps_;  // by step
  TestUnits blocks_;
  int64_t last_ns_ = INT64_MIN;  // last arrival of any usable instance
  int64_t met_step_ = kNoStep;   // the step asked for last
  int64_t met_number_ = -1;
};

}  // namespace lockstep
