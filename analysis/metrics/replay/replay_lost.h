// Instances that a rank took part in though its record of them is lost (part of BuildReplayGraph). What looks like a
// gap of that rank holds its wait for the others there: it goes on when the instance has ended, not when it is done
// itself. And where the others waited much longer than data usually takes to move, they waited for that rank: they end
// sooner if it comes sooner.
//
// A rank took part where it did before and afterwards, its communicator's work does not run beside the compute, and
// nothing else of it lies there. Pure.
#pragma once

#include "analysis/metrics/replay/replay_graph.h"

namespace lockstep {

// Fills ReplayNode::passed, after which own time begins, and ReplayGraph::absent.
void AddLost(const ArrivalGraph& source, const MatchResult& match, ReplayGraph& graph);

}  // namespace lockstep
