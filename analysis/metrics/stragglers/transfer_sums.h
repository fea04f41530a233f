// Transfers of the communicators by unit, over the chapters of a run. Pure. Units: ns.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/match/chapter.h"
#include "analysis/metrics/stragglers/test_units.h"

namespace lockstep {

struct TransferSum {
  double ns = 0;         // after the last arrivals
  double spread_ns = 0;  // of the arrivals
  double count = 0;
};

// Transfers of one operation and message size in one communicator.
struct TransferClass {
  uint32_t communicator = 0;
  CollectiveOp op = CollectiveOp::kUnknown;
  int64_t bytes = 0;
  friend auto operator<=>(const TransferClass&, const TransferClass&) = default;
};

struct TransferSums {
  std::vector<std::vector<int32_t>> members;               // by communicator: rank indices seen together, ascending
  std::map<TransferClass, std::vector<TransferSum>> sums;  // by number of the unit
  std::map<uint32_t, double> deviations_ns;                // by communicator: of the clocks, over its instances
  std::map<uint32_t, double> instances;

  // `graph`: of the chapter, which is the one that `numbers` opened last.
  void Add(const Chapter& chapter, const ArrivalGraph& graph, UnitNumbers& numbers);
};

}  // namespace lockstep
