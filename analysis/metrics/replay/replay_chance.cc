#include "analysis/metrics/replay/replay_chance.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "analysis/model/record_scatter.h"

namespace lockstep {
namespace {

class ChanceFinder {
 public:
  ChanceFinder(ReplayGraph& graph, ReplayWaits& waits) : graph_(graph), waits_(waits) {}

  // That a row ends where the work goes on anyhow, because another row ended there or a kernel did, is chance if
  // another member's work had passed that place before the end.
  void Instance(size_t instance) {
    constexpr size_t kMostAsked = 4;
    std::vector<int32_t> joined;
    std::vector<int32_t> others;
    for (size_t m = graph_.member_first[instance]; m < graph_.member_first[instance + 1]; ++m) {
      const int32_t member = graph_.members[m];
      if (waits_.Of(member).taker >= 0) {
        joined.push_back(member);
      } else if (others.size() < kMostAsked) {
        others.push_back(member);
      }
    }
    if (others.empty()) return;
    for (const int32_t n : joined) {
      const auto passed = [&](int32_t other) { return PassedBeforeTheEnd(waits_.Of(n), other); };
      if (std::any_of(others.begin(), others.end(), passed)) DropIfItGoesOnAnyhow(n);
    }
  }

 private:
  // If another row ended there, the wait is for that one. If without this wait the work had come there as late, or
  // nearly so, it is for a row that ended long before.
  void DropIfItGoesOnAnyhow(int32_t joined) {
    const TakenJoin wait = waits_.Of(joined);
    const int64_t end_ns = graph_.node(joined).end_ns;
    const ReplayNode& taker = graph_.node(wait.taker);
    const auto first = static_cast<size_t>(taker.join_first);
    const size_t end = first + static_cast<size_t>(taker.join_count);
    int32_t instead = -1;
    for (size_t j = first == 0 ? 0 : first - 1; j < std::min(end + 1, graph_.joins.size()); ++j) {
      const int32_t other = graph_.joins[j].node;
      const ReplayNode& node = graph_.node(other);
      const bool at_once = node.rank == taker.rank && std::abs(node.end_ns - end_ns) <= kRecordScatterNs;
      if (other != joined && other < wait.taker && at_once) instead = other;  // what starts later is not waited for
    }
    const bool as_late = waits_.LineAt(wait.taker, wait.join.at_share, joined) + kRecordScatterNs >= end_ns;
    if (instead < 0 && as_late) instead = static_cast<int32_t>(graph_.first[static_cast<size_t>(taker.rank)]);
    if (instead < 0) return;
    for (size_t j = first; j < end; ++j) {
      if (graph_.joins[j].node == joined) graph_.joins[j].node = instead;
    }
    waits_.Take(joined, {});
  }

  // Whether the work of the member had passed the place where another one was seen to wait.
  [[nodiscard]] bool PassedBeforeTheEnd(const TakenJoin& shown, int32_t member) const {
    const int32_t piece = PieceLike(shown, member);
    const int32_t taker = piece < 0 ? -1 : waits_.FirstAt(piece, member, shown.join.at_share);
    return taker >= 0 && waits_.LineAt(taker, shown.join.at_share) + kRecordScatterNs < graph_.node(member).end_ns;
  }

  // The node that ends the piece of the member in which it would wait as shown: the next one that ends a piece at the
  // same place of its communicator, which is the one of the row that is waited for, or another one, in both. -1: none.
  [[nodiscard]] int32_t PieceLike(const TakenJoin& shown, int32_t member) const {
    constexpr int kMostPieces = 8;
    const ReplayPosition place = PositionOf(graph_.node(shown.taker).piece);
    const bool same = place.communicator == PositionOf(shown.join.node).communicator;
    const auto end = static_cast<int32_t>(graph_.first[static_cast<size_t>(graph_.node(member).rank) + 1]);
    int pieces = 0;
    for (int32_t n = member + 1; n < end && pieces < kMostPieces; ++n) {
      if (graph_.node(n).piece != n) continue;
      ++pieces;
      const ReplayPosition its = PositionOf(n);
      if (its.ordinal == place.ordinal && (its.communicator == PositionOf(member).communicator) == same) return n;
    }
    return -1;
  }

  // Of no position: ordinal -1.
  [[nodiscard]] ReplayPosition PositionOf(int32_t n) const {
    const int32_t position = graph_.node(n).position;
    return position < 0 ? ReplayPosition{.communicator = 0, .ordinal = -1}
                        : graph_.positions[static_cast<size_t>(position)];
  }

  ReplayGraph& graph_;
  ReplayWaits& waits_;
};

}  // namespace

void DropChanceJoins(ReplayGraph& graph, ReplayWaits& waits) {
  ChanceFinder finder(graph, waits);
  for (size_t i = 0; i + 1 < graph.member_first.size(); ++i) finder.Instance(i);
}

}  // namespace lockstep
