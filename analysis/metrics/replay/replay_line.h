// The line of a rank's own work in the replay (part of BuildReplayGraph): how much of it lies between successive
// collectives, at which points of it the rank waited for a collective to end, and where on it a collective started.
//
// The line is cut into pieces, which are compared with those of other ranks. A piece ends where a collective starts
// that the rank does nothing beside: all ranks have these in one order. One that runs beside compute starts at some
// point of a piece, before or after another as chance has it, and cuts nothing. Where nearly all are of that kind, all
// cut. Pieces of a rank follow each other without a gap. Their parts are those of the rows' segments, as far as these
// lie in the piece; what remains is compute. Pure. Units: ns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/replay/replay_graph.h"
#include "analysis/model/collective.h"

namespace lockstep {

inline constexpr int64_t kStreamOrderNs = 8'000;  // a start this soon after an end on the same stream follows from it
inline constexpr int64_t kLeastWorkNs = 15'000;   // an unexplained stretch longer than this is taken for work

// Whether the rank did nothing else while this row ran.
[[nodiscard]] bool RunsAlone(const ArrivalNode& row);

// Which share of the rows runs alone.
struct SharesAlone {
  std::vector<float> of_communicator;  // with more than half of them alone, they bound pieces
  std::vector<float> of_operation;     // of a communicator: see OperationOf

  static constexpr size_t kOperations = 16;  // room for those of a communicator: more than there are
  static_assert(kOperations > static_cast<size_t>(CollectiveOp::kAllGatherV));
  [[nodiscard]] static size_t OperationOf(const MatchedInstance& instance) {
    return instance.communicator * kOperations + static_cast<size_t>(instance.op);
  }
};
[[nodiscard]] SharesAlone MeasureAlone(const ArrivalGraph& source, const MatchResult& match);

// Makes the nodes of a rank. Looks at and writes those alone; returns its joins, by node in order of start, each node's
// in order of their ends. ReplayNode::join_first counts from the rank's first.
[[nodiscard]] std::vector<ReplayJoin> AddLine(const std::vector<ArrivalNode>& rows, const MatchResult& match,
                                              const SharesAlone& alone, size_t rank, ReplayGraph& graph);

}  // namespace lockstep
