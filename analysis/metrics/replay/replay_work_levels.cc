// How long the work of a rank takes its peers: ReplayPeers::LevelsOfWork.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/metrics/replay/replay_peers.h"

namespace lockstep {

class ReplayPeers::WorkLevels {
 public:
  WorkLevels(const ReplayPeers& peers, size_t rank, const std::vector<bool>& in_scope,
             std::span<const WorkValue> values)
      : peers_(peers),
        graph_(peers.graph_),
        first_(graph_.first[rank]),
        end_(graph_.first[rank + 1]),
        in_scope_(in_scope),
        values_(values),
        sums_(values.size(), std::vector<Sums>(end_ - first_)),
        open_(graph_.first.size() - 1) {}

  std::vector<LevelOfNodes> Run() {
    for (size_t n = first_; n < end_; ++n) {
      if (!EndsPiece(n)) continue;
      const int32_t instance = graph_.nodes[n].instance;
      if (instance >= 0 && !peers_.IsPair(instance)) Meet(static_cast<int32_t>(n), instance);
    }
    std::vector<LevelOfNodes> levels;
    for (size_t v = 0; v < values_.size(); ++v) levels.push_back(LevelsOf(v));
    return levels;
  }

 private:
  // A peer, since the last place that it and the rank showed.
  struct Open {
    int32_t own = -1;  // nodes there
    int32_t peers = -1;
    int64_t met = 0;      // so often since then
    bool queued = false;  // one of the two had to queue at one of the meetings
  };
  // Pieces of a rank by where they end: where several meet, or where two send or receive.
  struct Counts {
    int64_t meetings = 0;
    int64_t pairs = 0;
  };

  [[nodiscard]] bool EndsPiece(size_t n) const { return graph_.nodes[n].piece == static_cast<int32_t>(n); }

  void Meet(int32_t n, int32_t instance) {
    for (const int32_t other : peers_.Asked(instance)) {
      const auto peer = static_cast<size_t>(graph_.node(other).rank);
      if (!in_scope_[peer]) MeetPeer(n, other, open_[peer]);
    }
  }

  void MeetPeer(int32_t n, int32_t other, Open& open) {
    ++open.met;
    const bool shown = !graph_.node(n).place_hidden && !graph_.node(other).place_hidden;
    const bool ends = EndsPiece(static_cast<size_t>(other));
    if (!shown || !ends) {
      open.queued = true;
      return;
    }
    // What starts at one time may have begun in either order: then they begin after different places.
    const bool alike = peers_.Comparable(graph_.node(n), graph_.node(other), other);
    if (alike && !open.queued) {
      for (size_t v = 0; v < values_.size(); ++v) SumsOf(v, n).Take(Value(v, other), graph_.node(other).rank);
    } else if (open.own >= 0 && DoTheSame(n, other, open)) {
      for (size_t v = 0; v < values_.size(); ++v) Compare(v, n, other, open);
    }
    open = {.own = n, .peers = other};
  }

  // Since the last place that both showed both took part in the same, and the work was not that of a stage alone.
  [[nodiscard]] bool DoTheSame(int32_t n, int32_t other, const Open& open) const {
    const auto of_meetings = [&](const Counts& counts) {
      return counts.meetings == open.met && counts.pairs <= counts.meetings;
    };
    return of_meetings(CountBetween(open.own, n)) && of_meetings(CountBetween(open.peers, other));
  }

  [[nodiscard]] Counts CountBetween(int32_t from, int32_t to) const {
    Counts counts;
    for (int32_t n = from + 1; n <= to; ++n) {
      const int32_t instance = graph_.node(n).instance;
      if (instance < 0 || !EndsPiece(static_cast<size_t>(n))) continue;
      ++(peers_.IsPair(instance) ? counts.pairs : counts.meetings);
    }
    return counts;
  }

  void Compare(size_t v, int32_t n, int32_t other, const Open& open) {
    const double own = ValueBetween(v, open.own, n);
    if (own <= 0) return;
    const double ratio = ValueBetween(v, open.peers, other) / own;
    for (int32_t piece = open.own + 1; piece <= n; ++piece) {
      const bool counts = EndsPiece(static_cast<size_t>(piece)) && Value(v, piece) > 0;
      if (counts) SumsOf(v, piece).Take(Value(v, piece) * ratio, graph_.node(other).rank);
    }
  }

  [[nodiscard]] double ValueBetween(size_t v, int32_t from, int32_t to) const {
    double sum = 0;
    for (int32_t n = from + 1; n <= to; ++n) {
      if (EndsPiece(static_cast<size_t>(n))) sum += Value(v, n);
    }
    return sum;
  }

  [[nodiscard]] LevelOfNodes LevelsOf(size_t v) const {
    LevelOfNodes out(end_ - first_);
    for (size_t k = 0; k < out.size(); ++k) {
      const auto n = static_cast<int32_t>(first_ + k);
      if (sums_[v][k].count > 0) {
        out[k] = sums_[v][k].level();
      } else if (Value(v, n) > 0) {
        out[k] = Elsewhere(v, n);
      }
    }
    return out;
  }

  [[nodiscard]] std::optional<PeerLevel> Elsewhere(size_t v, int32_t n) const {
    Sums sums;
    peers_.ForEachElsewhere(
        n, in_scope_, [&](const ReplayNode& other) { sums.Take(static_cast<double>(values_[v](other)), other.rank); });
    if (sums.count == 0) return std::nullopt;
    PeerLevel level = sums.level();
    level.elsewhere = true;
    return level;
  }

  [[nodiscard]] double Value(size_t v, int32_t n) const { return static_cast<double>(values_[v](graph_.node(n))); }
  [[nodiscard]] Sums& SumsOf(size_t v, int32_t n) { return sums_[v][static_cast<size_t>(n) - first_]; }

  const ReplayPeers& peers_;
  const ReplayGraph& graph_;
  const size_t first_;
  const size_t end_;
  const std::vector<bool>& in_scope_;
  const std::span<const WorkValue> values_;
  std::vector<std::vector<Sums>> sums_;  // by value and node of the rank
  std::vector<Open> open_;               // by rank of the peer
};

std::vector<ReplayPeers::LevelOfNodes> ReplayPeers::LevelsOfWork(size_t rank, const std::vector<bool>& in_scope,
                                                                 std::span<const WorkValue> values) const {
  return WorkLevels(*this, rank, in_scope, values).Run();
}

}  // namespace lockstep
