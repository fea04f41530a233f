// An order in which one pass can compute all starts and ends (part of BuildReplayGraph). Pure.
#pragma once

#include "analysis/metrics/replay/replay_graph.h"

namespace lockstep {

// Fills order and forced. Where instances contradict each other (each waits for the other's end), the node with the
// earliest start stops waiting for others: its duration stays.
void AddOrder(ReplayGraph& graph);

}  // namespace lockstep
