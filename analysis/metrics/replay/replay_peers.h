// What the peers of a scope did at the same place: members of the same instance outside the scope; where there are
// none, the members of the same instance (step and ordinal) of equal communicators. Pure. Units: ns.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/metrics/replay/replay_graph.h"

namespace lockstep {

struct PeerLevel {
  double mean_ns = 0;
  double variance_ns2 = 0;  // between peers; 0 with one peer
  double largest_ns = 0;
  int64_t peers = 0;  // that mean and variance are of
  // The peer that is far beyond the others, of at least three: its value is in none of the above; -1: none is.
  int32_t stalled_rank = -1;
  bool elsewhere = false;  // of equal communicators, whose programs need not be at the same place
};

class ReplayPeers {
 public:
  ReplayPeers(const ReplayGraph& graph, const MatchResult& match);

  // Of an instance with more members than kMostAsked, this many of them stand for all. The same of each instance of a
  // communicator, spread evenly over its ranks, at places that no regular layout shares: a scope of every eighth rank
  // holds its eighth of them. Their mean deviates from that of all by an eighth of what one peer deviates by.
  static constexpr size_t kMostAsked = 64;
  // Instances at the same place of equal communicators, the own one first; at most kMost + 1.
  static constexpr size_t kMost = 16;
  [[nodiscard]] std::vector<int32_t> InstancesLike(int32_t instance) const;

  // Each value(node) over the peers of this node: those of the own instance, else those of instances like it (of pairs:
  // only there, the same end). Nothing without peers. `in_scope`: by rank.
  template <typename... Value>
  [[nodiscard]] std::optional<std::array<PeerLevel, sizeof...(Value)>> Levels(int32_t n,
                                                                              const std::vector<bool>& in_scope,
                                                                              const Value&... value) const {
    std::array<Sums, sizeof...(Value)> sums;
    const auto take = [&](const ReplayNode& other) {
      auto sum = sums.begin();
      ((sum++)->Take(static_cast<double>(value(other)), other.rank), ...);
    };
    ForEachPeer(n, in_scope, take);
    const bool elsewhere = sums.front().count == 0;
    if (elsewhere) ForEachElsewhere(n, in_scope, take);
    if (sums.front().count == 0) return std::nullopt;
    std::array<PeerLevel, sizeof...(Value)> levels;
    for (size_t i = 0; i < sums.size(); ++i) {
      levels[i] = sums[i].level();
      levels[i].elsewhere = elsewhere;
    }
    return levels;
  }
  template <typename Value>
  [[nodiscard]] std::optional<PeerLevel> Level(int32_t n, const std::vector<bool>& in_scope, const Value& value) const {
    const auto levels = Levels(n, in_scope, value);
    return levels ? std::optional(levels->front()) : std::nullopt;
  }

  // use(node) of each peer in the node's own instance, if that is no pair.
  template <typename Use>
  void ForEachPeer(int32_t n, const std::vector<bool>& in_scope, const Use& use) const {
    const ReplayNode& node = graph_.node(n);
    if (node.instance >= 0 && !IsPair(node.instance)) ForEachIn(node.instance, node, in_scope, use);
  }

  // Of what the work consists of: a part of ReplayNode::device_ns.
  using WorkValue = int64_t (*)(const ReplayNode&);
  using LevelOfNodes = std::vector<std::optional<PeerLevel>>;  // of a rank, from its first one on
  // By value. A row that was ready early and had to queue does not show how far its rank's work had come. Where that is
  // so at either of the two, their work is compared together with all from the place before that both show to the next
  // one, and each piece is as long, against its own length, as all.
  [[nodiscard]] std::vector<LevelOfNodes> LevelsOfWork(size_t rank, const std::vector<bool>& in_scope,
                                                       std::span<const WorkValue> values) const;

 private:
  class WorkLevels;

  // use(node) of each peer in the instances like the node's; of pairs at the same end.
  template <typename Use>
  void ForEachElsewhere(int32_t n, const std::vector<bool>& in_scope, const Use& use) const {
    const ReplayNode& node = graph_.node(n);
    if (node.instance < 0) return;
    const bool is_pair = IsPair(node.instance);
    ForEachLike(node.instance, [&](int32_t like) {
      if (is_pair) {
        UseSameEnd(like, n, in_scope, use);
      } else {
        ForEachIn(like, node, in_scope, use);
      }
    });
  }

  // use(instance) of those at the same place of equal communicators.
  template <typename Use>
  void ForEachLike(int32_t instance, const Use& use) const {
    const int32_t position = graph_.position_of_instance[static_cast<size_t>(instance)];
    for (const uint32_t c : like_[graph_.positions[static_cast<size_t>(position)].communicator]) {
      const int32_t like = AtPlace(c, instance);
      if (like >= 0) use(like);
    }
  }
  // The instance of a communicator at the place of another one's; -1: it has none there.
  [[nodiscard]] int32_t AtPlace(uint32_t communicator, int32_t instance) const;

  // The members of an instance that stand for all of them: nodes.
  [[nodiscard]] std::span<const int32_t> Asked(int32_t instance) const {
    const auto at = static_cast<size_t>(instance);
    const size_t first = graph_.member_first[at];
    const size_t members = graph_.member_first[at + 1] - first;
    if (members > kMostAsked) return asked_.at(instance);
    return std::span(graph_.members).subspan(first, members);
  }
  void ChooseAsked(const MatchResult& match);

  [[nodiscard]] bool IsPair(int32_t instance) const { return key_[static_cast<size_t>(instance)].pair >= 0; }
  // Only what came about in the same way is comparable: after the same place of the program, and both on a blocked host
  // or neither.
  [[nodiscard]] bool Comparable(const ReplayNode& node, const ReplayNode& other, int32_t other_number) const {
    const bool anchor = node.anchor >= 0 && &graph_.node(node.anchor) == &node;
    return other.follows && other.is_anchor(other_number) == anchor && other.begins_after == node.begins_after;
  }

  struct Sums {
    double sum = 0;
    double squares = 0;
    double largest = 0;
    double second = 0;
    int64_t count = 0;
    int32_t largest_rank = -1;
    void Take(double x, int32_t rank) {
      sum += x;
      squares += x * x;
      if (count == 0 || x > largest) {
        std::swap(x, largest);
        largest_rank = rank;
      }
      second = count < 2 ? x : std::max(second, x);
      ++count;
    }
    [[nodiscard]] Sums WithoutLargest() const {
      return {.sum = sum - largest, .squares = squares - largest * largest, .largest = second, .count = count - 1};
    }
    [[nodiscard]] PeerLevel level() const {
      if (count < kPeersToTellAStall) return All();
      PeerLevel rest = WithoutLargest().All();
      const double far = kStallTimes * rest.mean_ns + kStallDeviations * std::sqrt(rest.variance_ns2) + kStallNs;
      if (largest <= far) return All();
      rest.largest_ns = largest;
      rest.stalled_rank = largest_rank;
      return rest;
    }

   private:
    // A peer that stalls says nothing of how long the work takes, and would hide the stalls of others as noise. Far
    // enough beyond the others that neither noise nor another speed of a device is taken for a stall.
    static constexpr int64_t kPeersToTellAStall = 3;  // two others show how much they differ
    static constexpr double kStallTimes = 2;
    static constexpr double kStallDeviations = 8;
    static constexpr double kStallNs = 1'000;  // resolution of the records

    [[nodiscard]] PeerLevel All() const {
      const auto n = static_cast<double>(count);
      const double mean = sum / n;
      const double variance = count < 2 ? 0 : (squares - sum * mean) / (n - 1);
      return {.mean_ns = mean, .variance_ns2 = variance > 0 ? variance : 0, .largest_ns = largest, .peers = count};
    }
  };

  // use(other) for what is comparable to the node among the members of an instance.
  template <typename Use>
  void ForEachIn(int32_t instance, const ReplayNode& node, const std::vector<bool>& in_scope, const Use& use) const {
    for (const int32_t member : Asked(instance)) {
      const ReplayNode& other = graph_.node(member);
      if (in_scope[static_cast<size_t>(other.rank)] || !Comparable(node, other, member)) continue;
      use(other);
    }
  }

  // The end of a pair's instance that does what node n does at its own.
  template <typename Use>
  void UseSameEnd(int32_t instance, int32_t n, const std::vector<bool>& in_scope, const Use& use) const {
    const ReplayNode& node = graph_.node(n);
    const size_t own = graph_.member_first[static_cast<size_t>(node.instance)];
    const size_t at = graph_.member_first[static_cast<size_t>(instance)] + (graph_.members[own] == n ? 0 : 1);
    if (at >= graph_.member_first[static_cast<size_t>(instance) + 1]) return;
    const ReplayNode& other = graph_.node(graph_.members[at]);
    if (in_scope[static_cast<size_t>(other.rank)] || !Comparable(node, other, graph_.members[at])) return;
    use(other);
  }

  // Where in its communicator's program an instance stands: the n-th of its step, of pairs the n-th of the same two.
  struct Place {
    int64_t step = 0;
    int32_t pair = -1;  // numbers of the two members in the communicator, as one; -1: no pair
    int32_t ordinal = 0;
    int32_t instance = 0;

    [[nodiscard]] auto key() const { return std::tuple(step, pair, ordinal); }
  };

  const ReplayGraph& graph_;
  absl::flat_hash_map<int32_t, std::vector<int32_t>> asked_;  // nodes, of instances with more than kMostAsked members
  std::vector<Place> key_;                                    // by instance
  std::vector<std::vector<Place>> places_;                    // by communicator, ascending
  std::vector<int32_t> place_of_;                             // by instance: index into those of its communicator
  std::vector<std::vector<uint32_t>> like_;                   // by communicator: equal ones
};

}  // namespace lockstep
