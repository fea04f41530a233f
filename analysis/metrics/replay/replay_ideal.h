// The lengths of an idealised run: what a scope did itself, brought to the level of its peers. Pure.
//
// Work keeps its own noise: a rank's compute and copies are scaled, at each place of the program, by (sum of the peers'
// means) / (sum of the own) over the steps, times the step's own deviation from that where it is larger than what the
// peers' steps differ by themselves (replay_step_noise.h). With few steps
// each length is replaced by the peers' mean. Host times and the rest are replaced one by one. Work without peers
// at its place (sends along a pipeline) is scaled by the ratio of the rank's other work, or of all other ranks' work.
#pragma once

#include "analysis/base/executor.h"
#include "analysis/metrics/replay/replay.h"
#include "analysis/metrics/replay/replay_graph.h"
#include "analysis/metrics/replay/replay_peers.h"
#include "analysis/metrics/replay/replay_run.h"

namespace lockstep {

// The groups of ranks whose lengths an idealisation may change, ascending.
[[nodiscard]] std::vector<size_t> GroupsOf(const ReplayGraph& graph, const MatchResult& match,
                                           const Idealisation& ideal);

// What was taken away from the compute and copies of a rank of the scope, on average. The peers' mean is only as exact
// as their steps are alike.
struct RemovedWork {
  double ns_per_step = 0;
  double deviation_ns_per_step = 0;  // standard deviation of it
};

// `lengths`: as measured; changed in place, rank by rank on the executor; null: one after the other.
RemovedWork Idealise(const ReplayGraph& graph, const ArrivalGraph& source, const MatchResult& match,
                     const ReplayPeers& peers, const Idealisation& ideal, ReplayLengths& lengths, Executor* executor);

}  // namespace lockstep
