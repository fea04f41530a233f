// A host that runs ahead of its device and yet never gets further ahead is held back by it: it launches a step once an
// earlier one has ended (part of BuildReplayGraph). Which work it waits for is told by timing: of the last rows of the
// steps before, the one that ended before nearly every such launch, and at the steadiest distance. Pure.
#pragma once

#include <cstddef>

#include "analysis/metrics/replay/replay_graph.h"

namespace lockstep {

// Sets `behind` of the rank's launches, after the anchors are known. Launches of a host that is held back by what is
// not found stop limiting the starts (host_bound).
void AddRunAhead(const ArrivalGraph& source, size_t rank, ReplayGraph& graph);

}  // namespace lockstep
