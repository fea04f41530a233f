// An order in which one pass can compute all starts and ends (part of BuildReplayGraph). Pure.
#pragma once

#include "analysis/metrics/replay/replay_graph.h"

namespace lockstep {

// Fills groups with their orders, group_of_rank and forced. Where instances contradict each other (each waits for the
// other's end), the node with the earliest start stops waiting for others: its duration stays.
void AddOrder(ReplayGraph& graph);

}  // namespace lockstep
