// Where communication that left a queue had been ready (part of BuildReplayGraph). Pure.
#pragma once

#include "analysis/base/executor.h"
#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/replay/replay_graph.h"

namespace lockstep {

// Sets ReplayNode::awaits_work. A row that starts right after another one on its stream was ready before, at a place of
// the rank's own work that nothing shows. In other steps it starts without a queue. If the work had come as far there,
// and no further, that is the place, and the row would not start sooner. After AddPositions.
void AddReadyPlaces(const ArrivalGraph& source, Executor& executor, ReplayGraph& graph);

}  // namespace lockstep
