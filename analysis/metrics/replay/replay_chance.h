// Waits of a rank's own work that are chance (part of BuildReplayGraph). Pure.
#pragma once

#include "analysis/metrics/replay/replay_graph.h"
#include "analysis/metrics/replay/replay_waits.h"

namespace lockstep {

// Takes away the joins of rows that ended just when the work went on for another reason: another member's work had
// passed that place before the end, and members of an instance run the same program. Of `waits` as well.
void DropChanceJoins(ReplayGraph& graph, ReplayWaits& waits);

}  // namespace lockstep
