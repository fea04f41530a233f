// The arrivals of a run with what came before each of them: the graph that lateness, blame and what-if are computed on.
//
// A node is one rank's part in one collective instance, with its segment: the stretch from that rank's end of the
// previous instance of the same communicator (or its first activity) to its start, tiled exactly by parts (batch.h).
// Times are aligned ns; parts are as measured on the rank's own clock (drift changes a
// part by less than 1e-4 of itself). Nodes of one rank are in order of their source's stream (order of local start):
// index = row. Built once a report and borrowed by what follows. Thread rule: a plain value.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/base/few.h"
#include "analysis/metrics/arrivals/work_line.h"
#include "analysis/metrics/match/match.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/row_values.h"
#include "analysis/model/run_data.h"

namespace lockstep {

struct ArrivalNode {
  int64_t start_ns = 0;  // aligned
  int64_t end_ns = 0;
  int64_t launch_start_ns = kNoTime;  // aligned; kNoTime: the trace does not tell
  int64_t launch_end_ns = kNoTime;
  int64_t instance = -1;  // index into MatchResult::instances; -1: of no communicator with others
  int64_t previous = -1;  // row of this rank's previous instance of the same communicator; -1 = the first
  int64_t step = kNoStep;
  int64_t graph_launch = -1;
  int32_t stream = -1;
  uint32_t name = kNoId;
  WorkAt work;      // how far the rank's own work has come
  Segment segment;  // begin_ns is aligned; tiles[].instance is a row of this rank
};

struct ArrivalGraph {
  std::vector<std::vector<ArrivalNode>> ranks;  // [rank index][row]
  // [rank index]: begin and end of the stretches between steps in which nothing was recorded, aligned, ascending; those
  // that lie within its rows.
  std::vector<std::vector<std::pair<int64_t, int64_t>>> pauses;
  // By instance: whether it ties its members to each other, because everybody waited for everybody or all for the root.
  // A broadcast whose root came first lets each receiver go on by itself: what made one late before it still does
  // behind.
  std::vector<bool> ties;
  // Indices into MatchResult::instances of usable ones, those of ranks that nothing connects with the others together;
  // among these by (last start, index): waits point to earlier entries only.
  std::vector<uint32_t> order;

  [[nodiscard]] bool Ties(int64_t instance) const {
    return static_cast<size_t>(instance) >= ties.size() || ties[static_cast<size_t>(instance)];
  }
};

// Sets ArrivalNode::work of all nodes of a rank. `covers`: InstanceRow::cover of each; empty where no compute runs
// beside any of them.
void SetWork(std::span<const Few<std::pair<int64_t, int64_t>>> covers, std::vector<ArrivalNode>& nodes);

// Errors: those of the instance source.
[[nodiscard]] absl::StatusOr<ArrivalGraph> LoadArrivalGraph(const RunData& run, InstanceSource& instances,
                                                            const RankResolution& ranks, const MatchResult& match,
                                                            Executor& executor);

}  // namespace lockstep
