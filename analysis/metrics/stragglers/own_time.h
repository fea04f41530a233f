// Each rank's own time per step: what it did between its collectives itself, and by how much that exceeds its peers.
//
// Own time is everything of a segment but other communication: computing, copies, host, launches, dependencies, rest;
// and what was computed beside communication, which the segment leaves out (work_line.h). It is measured on the rank's
// own clock alone, so no clock error enters it, and waiting for somebody else's lateness is not in it: the origin of a
// delay has it, its victims have not. Pure. Units: ns.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/arrivals/lateness.h"
#include "analysis/metrics/match/chapter.h"
#include "analysis/metrics/stragglers/test_units.h"
#include "analysis/metrics/stragglers/unit_places.h"

namespace lockstep {

using OwnParts = std::array<double, kLatenessParts>;  // by LatenessPart; carry-in, wait and transfer stay 0

// One rank; units without a measurement are NaN.
struct RankOwnTime {
  int32_t communicator = -1;      // whose segments were used: the one with most instances; -1 = none
  std::vector<double> own_ns;     // [unit]
  std::vector<double> excess_ns;  // [unit] over the mean of the other members of the same instances
  // [unit] host's part of the stretches before instances that tie their members without all waiting for all, as the
  // sends along a pipeline: what a rank whose work nobody else does is compared with itself by.
  std::vector<double> lone_host_ns;
  OwnParts own_parts{};  // sums over all units
  OwnParts excess_parts{};
  // The same by place in the unit (unit_places.h): [place][unit], and the sums. Empty for all members of a communicator
  // some of whose places are of different work, as those of neighbours in a pipeline, where units are no steps, and
  // where there are too many of them.
  std::vector<std::vector<float>> excess_at_ns;
  std::vector<OwnParts> excess_parts_at;
  bool compared = false;  // excess_ns means something: there were instances in which everybody waits for everybody
  int64_t units = 0;      // measured ones
  int64_t instances = 0;  // of its communicator, in units: what the parts are sums over
};

// Own time over the chapters of a run, those of a rank in order of time. The communicator of a rank is that of its
// first chapter.
class OwnTimeSums {
 public:
  explicit OwnTimeSums(size_t ranks) : places_(ranks), ranks_(ranks) {}
  // `graph`: of the chapter. Counts the units of `numbers`.
  void Add(const Chapter& chapter, const ArrivalGraph& graph, UnitNumbers& numbers);
  // By rank index. `order`: number of each unit, as UnitNumbers gives it. The sums are used up.
  [[nodiscard]] std::vector<RankOwnTime> Finish(const TestUnits& units, const std::vector<size_t>& order);

 private:
  struct OfUnit {
    int64_t instances = 0;
    double own_ns = 0;
    double excess_ns = 0;
    double lone_host_ns = 0;
    int64_t compared = 0;  // instances that excess_ns is of
  };
  struct OfRank {
    RankOwnTime result;
    bool with_neighbour = false;     // it is compared with the other end of a pair
    bool has_places = true;          // never with one
    std::vector<OfUnit> units;       // by number
    std::vector<float> at_ns;        // [number][place] excess
    std::vector<OwnParts> parts_at;  // [place]

    [[nodiscard]] OfUnit& At(size_t number) {
      if (units.size() <= number) units.resize(number + 1);
      return units[number];
    }
  };
  class Meter;

  void PutPlaces(const std::vector<size_t>& order, OfRank& of, RankOwnTime& result) const;
  [[nodiscard]] std::set<int32_t> WithoutPlaces() const;  // communicators

  UnitPlaces places_;
  std::vector<OfRank> ranks_;
};

}  // namespace lockstep
