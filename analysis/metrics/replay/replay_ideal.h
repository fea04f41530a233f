// The lengths of an idealised run: what a scope did itself, brought to the level of its peers. Pure.
//
// Work keeps its own noise: a rank's compute and copies are scaled, at each place of the program, by (sum of the peers'
// means) / (sum of the own) over the steps, times the step's own deviation from that where it is large. With few steps
// each length is replaced by the peers' mean. Host times and the rest are replaced one by one. Work without peers
// at its place (sends along a pipeline) is scaled by the ratio of the rank's other work, or of all other ranks' work.
#pragma once

#include "analysis/metrics/replay/replay.h"
#include "analysis/metrics/replay/replay_graph.h"
#include "analysis/metrics/replay/replay_peers.h"
#include "analysis/metrics/replay/replay_run.h"

namespace lockstep {

// The groups of ranks whose lengths an idealisation may change, ascending.
[[nodiscard]] std::vector<size_t> GroupsOf(const ReplayGraph& graph, const MatchResult& match,
                                           const Idealisation& ideal);

// `lengths`: as measured.
void Idealise(const ReplayGraph& graph, const ArrivalGraph& source, const MatchResult& match, const ReplayPeers& peers,
              const Idealisation& ideal, ReplayLengths& lengths);

}  // namespace lockstep
