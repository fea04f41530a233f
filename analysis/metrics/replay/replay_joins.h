// Waits of a rank's own work that its own records do not show, or show by chance (part of BuildReplayGraph). Members of
// an instance run the same program: where the work of one of them waited for its end, that of the others does too,
// though it had ended by then; and where that of one of them went on before the end, that of the others does not wait.
// Sooner or later starts make such a wait count. Pure.
#pragma once

#include "analysis/metrics/replay/replay_graph.h"

namespace lockstep {

// Adds to ReplayGraph::joins those where the work came later to the place at which another member, or the rank in other
// steps, waited; and takes away the ones that are chance. The unchanged replay stays the same, but for the scatter of
// records. After AddCoupling.
void ShareJoins(const ArrivalGraph& source, Executor& executor, ReplayGraph& graph);

}  // namespace lockstep
