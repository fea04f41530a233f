// Whom the ends of the members of each instance wait for (part of BuildReplayGraph). Pure.
#pragma once

#include "analysis/metrics/replay/replay_graph.h"

namespace lockstep {

// Fills members, member_first, ReplayNode::awaits and coupled. Only usable instances couple ranks.
void AddCoupling(const MatchResult& match, ReplayGraph& graph);

}  // namespace lockstep
