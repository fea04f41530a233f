// How a rank's host holds it up: little and often (late launches), or long and seldom (pauses).
//
// Looks at the host parts of the segments of the rank's most frequent communicator, which tile its time most finely,
// each against the median of the other members of the same instance. Pure.
#pragma once

#include <cstdint>

#include "analysis/metrics/arrivals/arrival_graph.h"

namespace lockstep {

inline constexpr int64_t kHostPauseNs = 1'000'000;  // an excess from here on is a pause

struct HostExcess {
  bool compared = false;
  double per_instance_ns = 0;  // mean host time beyond the peers'
  double in_pauses = 0;        // share of it that lies in pauses, in [0, 1]
  int64_t pauses = 0;
  int64_t steps = 0;  // steps of the rank; 1 if it has none
};

[[nodiscard]] HostExcess CompareHosts(const ArrivalGraph& graph, int32_t rank_index);

}  // namespace lockstep
