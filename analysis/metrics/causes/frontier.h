// Who holds a communicator up, told without any clock: a cross-check of the propagated blame.
//
// Within one communicator and step every rank accumulates its own time (between instances, without its waits in other
// collectives; wait = duration - shortest duration of the instance). The frontier is the largest such sum after each
// instance; its increments telescope to that of the last one, and each increment beyond the members' mean is charged to
// the rank that leads. Durations only, so offsets, drift and bias of clocks change nothing. After StageFrontier (arXiv
// 2606.06751). Pure. Units: ns.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"

namespace lockstep {

struct FrontierSuspect {
  int32_t rank_index = -1;
  int64_t lead_ns = 0;  // sum of its increments of the frontier beyond the mean
};

// Ranks by lead, descending, then rank index; only ranks that ever led. Instances that are not all-pairs or lack a
// member are passed over.
[[nodiscard]] std::vector<FrontierSuspect> FrontierRanking(const ArrivalGraph& graph, const MatchResult& match);

}  // namespace lockstep
