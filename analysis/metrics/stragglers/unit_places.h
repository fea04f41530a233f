// Where in its unit an instance is, so that stretches of equal place can be compared from unit to unit.
//
// The instances of a communicator in a unit are counted as they pass by, and so many after each other are one place.
// How many that is, the first chapter that has instances of the communicator decides. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/match/chapter.h"
#include "analysis/metrics/stragglers/test_units.h"

namespace lockstep {

class UnitPlaces {
 public:
  // With more ranks there are fewer places in a unit, so that what is kept by place stays bounded.
  explicit UnitPlaces(size_t ranks);
  [[nodiscard]] size_t count() const { return count_; }

  // Before the instances of the chapter are asked for. `numbers`: opened for the chapter, too.
  void Open(const Chapter& chapter, const ArrivalGraph& graph, UnitNumbers& numbers);
  // Of each instance of the chapter once, in the order of the graph. `unit`: its number.
  [[nodiscard]] size_t Next(const MatchedInstance& instance, size_t unit);

 private:
  struct OfCommunicator {
    int64_t per_place = 0;      // instances; 0 = not known yet
    std::vector<int64_t> seen;  // by unit number
  };

  size_t count_ = 1;
  std::vector<OfCommunicator> communicators_;
};

}  // namespace lockstep
