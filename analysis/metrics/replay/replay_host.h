// The host's side of the replay graph (part of BuildReplayGraph): in which order a rank launched, how long its host
// took from launch to launch, and where the host stood blocked until the device had finished.
//
// A blocked host follows the device, a late host holds it up: both look like a launch after the device's end. A block
// is part of the program, so most members of the instance show it; a delay is one rank's own. Pure.
#pragma once

#include "analysis/base/executor.h"
#include "analysis/metrics/replay/replay_graph.h"

namespace lockstep {

// Fills launched and the launch fields, anchor, after_host and host_bound of the nodes.
void AddHost(const ArrivalGraph& source, const MatchResult& match, Executor& executor, ReplayGraph& graph);

}  // namespace lockstep
