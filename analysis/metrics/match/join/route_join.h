// Sends joined with receives over one route, in order, whatever was lost on either side. Internal to the joining of
// instances.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/match/join/instance_builder.h"

namespace lockstep {

struct RouteRow {
  int64_t start_ns = 0;  // on the common axis
  int64_t end_ns = 0;
};

struct RoutePair {
  size_t send = 0;
  size_t receive = 0;
  bool clear = false;  // no neighbour of either fits about as well
};

// Ascending in both: the monotone pairing that explains the ends best. A receive cannot end before its send has
// started, and ends when both are there and the data is over; a sender may end early. Both in order of start.
// `slack_ns`: how far the clocks may be off.
[[nodiscard]] std::vector<RoutePair> PairRoute(const std::vector<RouteRow>& sends,
                                               const std::vector<RouteRow>& receives, int64_t slack_ns);

}  // namespace lockstep
