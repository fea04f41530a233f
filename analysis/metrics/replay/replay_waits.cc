#include "analysis/metrics/replay/replay_waits.h"

#include <algorithm>

namespace lockstep {

ReplayWaits::ReplayWaits(const ReplayGraph& graph) : graph_(graph), taken_(graph.nodes.size()) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const ReplayNode& node = graph.nodes[n];
    for (int32_t j = node.join_first; j < node.join_first + node.join_count; ++j) {
      const ReplayJoin& join = graph.joins[static_cast<size_t>(j)];
      taken_[static_cast<size_t>(join.node)] = {static_cast<int32_t>(n), join};
    }
  }
}

int32_t ReplayWaits::FirstAt(int32_t piece, int32_t after, float share) const {
  int32_t found = -1;
  for (int32_t n = piece; n > after && graph_.node(n).piece == piece && graph_.node(n).at_share >= share; --n) {
    found = n;
  }
  return found;
}

int64_t ReplayWaits::LineAt(int32_t n, float share, int32_t without) const {
  const ReplayNode& node = graph_.node(n);
  const ReplayNode& before = graph_.node(n - 1);
  const ReplayNode& piece = graph_.node(node.piece);
  const int64_t piece_ns = piece.device_ns + piece.host_ns;
  int64_t line_ns = before.line_ns;
  int64_t done_ns = before.piece == node.piece ? WorkAtShare(piece_ns, before.at_share) : 0;
  for (int32_t j = node.join_first; j < node.join_first + node.join_count; ++j) {
    const ReplayJoin& join = graph_.joins[static_cast<size_t>(j)];
    if (join.at_share > share) break;
    if (join.node == without) continue;
    const int64_t at_ns = WorkAtShare(piece_ns, join.at_share);
    line_ns = std::max(line_ns + at_ns - done_ns, graph_.node(join.node).end_ns);
    done_ns = at_ns;
  }
  return line_ns + WorkAtShare(piece_ns, share) - done_ns;
}

}  // namespace lockstep
