// Work beside the compute that a start has to wait for (part of BuildReplayGraph): the gradients' exchange before the
// optimizer. Where it ended early it does not show on a rank; that it is waited for shows on other ranks or in other
// steps at the same place of the program. Pure.
#pragma once

#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/replay/replay_graph.h"

namespace lockstep {

// Fills ReplayNode::join, join_gap_ns and after_async. What fell together by chance is no join: there the predecessor
// becomes the last blocking one. `async`: of each node, see AsyncRows.
void AddJoins(const std::vector<bool>& async, const MatchResult& match, Executor& executor, ReplayGraph& graph);

}  // namespace lockstep
