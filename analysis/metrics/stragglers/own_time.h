// Each rank's own time per step: what it did between its collectives itself, and by how much that exceeds its peers.
//
// Own time is everything of a segment but other communication: computing, copies, host, launches, dependencies, rest.
// It is measured on the rank's own clock alone, so no clock error enters it, and waiting for somebody else's lateness
// is not in it: the origin of a delay has it, its victims have not. Pure. Units: ns.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/arrivals/lateness.h"
#include "analysis/metrics/match/match.h"

namespace lockstep {

// The units of the test: the steps of the trace, else blocks of time.
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

[[nodiscard]] TestUnits ChooseUnits(const ArrivalGraph& graph, const MatchResult& match);

using OwnParts = std::array<double, kLatenessParts>;  // by LatenessPart; carry-in, wait and transfer stay 0

// One rank; units without a measurement are NaN.
struct RankOwnTime {
  int32_t communicator = -1;      // whose segments were used: the one with most instances; -1 = none
  std::vector<double> own_ns;     // [unit]
  std::vector<double> excess_ns;  // [unit] over the mean of the other members of the same instances
  OwnParts own_parts{};           // sums over all units
  OwnParts excess_parts{};
  bool compared = false;  // excess_ns means something: there were instances in which everybody waits for everybody
  int64_t units = 0;      // measured ones
};

// By rank index.
[[nodiscard]] std::vector<RankOwnTime> MeasureOwnTime(const ArrivalGraph& graph, const MatchResult& match,
                                                      const TestUnits& units);

}  // namespace lockstep
