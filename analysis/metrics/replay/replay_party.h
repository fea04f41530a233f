// Parties of a replay: ranks that wait for each other, directly or through others, and what of them is counted. What
// one party gains is nothing to the others; the run is as fast as the slowest. Pure. Units: ns.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/replay/replay_graph.h"

namespace lockstep {

struct ReplayParty {
  std::vector<int32_t> last;    // of each rank, the node up to whose end it is counted
  std::vector<int32_t> before;  // and the one from whose end on; -1: from its first start
  int64_t covered_ns = 0;       // from first start to last end, summed over ranks
  double steps = 0;             // in that
};

// `step_ns`: length of a step where the trace tells none. Where captures begin and end at different moments, what all
// of a party's captures hold is counted; of several parties that number their steps alike, the steps that all have.
[[nodiscard]] std::vector<ReplayParty> FindParties(const ArrivalGraph& source, const MatchResult& match,
                                                   const ReplayGraph& graph, int64_t step_ns);

}  // namespace lockstep
