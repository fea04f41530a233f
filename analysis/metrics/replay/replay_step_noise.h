// How much the work of a step differs between ranks that do the same, without any of them being slow: replicas that
// train on sequences of different lengths. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/replay/replay_graph.h"
#include "analysis/metrics/replay/replay_peers.h"

namespace lockstep {

struct StepNoise {
  double deviation = 0;  // standard deviation of a step's work from the mean of its peers, relative
  int64_t steps = 0;     // that it is of
};

// By value: of the work that it tells of a rank's nodes, by what its peers outside the scope differ from each other in
// a step; by what a single peer differs from itself and not together with this rank. Zero where fewer than eight steps
// are seen. Uses robust deviations, so that a peer that is slow in some steps does not count.
[[nodiscard]] std::vector<StepNoise> NoiseOfSteps(const ReplayGraph& graph, const ArrivalGraph& source,
                                                  const ReplayPeers& peers, size_t rank,
                                                  const std::vector<bool>& in_scope,
                                                  std::span<const ReplayPeers::WorkValue> values);

}  // namespace lockstep
