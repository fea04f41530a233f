// Waits that a rank is spared because it comes late (part of BuildReplayGraph). A rank that computes longer than its
// peers never waits for the collectives that run beside its work, and would wait for them as the peers do once it is as
// fast. Where most members of an instance waited for an earlier one before it, so do the others, if they come there in
// time. Pure.
#pragma once

#include "analysis/metrics/replay/replay_graph.h"

namespace lockstep {

// Adds joins to nodes whose rank came to them only after what is joined had ended: as measured they change nothing.
void AddSparedJoins(ReplayGraph& graph);

}  // namespace lockstep
