// The arrival graph as flat arrays, with everything that a replay needs worked out once: what each start waits for on
// the device and on the host, whom each end waits for, and an order in which one pass computes all times.
//
// Nodes are numbered rank by rank in order of start. Immutable after building; thread safe. Units: ns.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/match/match.h"
#include "analysis/model/row_values.h"

namespace lockstep {

// A host this far ahead of its device was not the limit.
inline constexpr int64_t kAheadNs = 20'000;

// Whom the end of a node waits for besides its own start.
inline constexpr int32_t kNobody = -1;  // its duration stays
inline constexpr int32_t kEverybody = -2;

// Of a send or a receive, or of a kernel that may be either.
[[nodiscard]] inline bool IsSendOrReceive(const MatchedInstance& instance) {
  return instance.op == CollectiveOp::kSendRecv || IsPointToPoint(instance.op);
}

// A point of a rank's own work at which it waits for a node of its own to end.
struct ReplayJoin {
  int32_t node = 0;
  float at_share = 0;  // of the node's piece that is done by then
};

struct ReplayNode {
  // What peers are compared by stands together: of most nodes that are looked at nothing else is read.
  int64_t device_ns = 0;   // of a node that ends a piece: the piece's own work without the host's part
  int64_t host_ns = 0;     // the host's part
  int64_t compute_ns = 0;  // of device_ns
  int64_t copy_ns = 0;
  int64_t host_step_ns = 0;  // launch - launch of the rank's launch before, or - end of `behind`; 0: no host time
  int32_t rank = 0;
  int32_t anchor = -1;            // first launch after the host was last blocked by the device; itself: is such a one
  uint32_t begins_after = 0;      // what the piece that it ends begins after: equal where programs do the same
  int32_t piece = -1;             // node that ends the piece of own work in which this one starts,
  float at_share = 0;             // after this share of the piece
  bool follows = false;           // another node of the rank comes before
  bool place_hidden = false;      // it may have been ready earlier in the own work, before `queued` ended
  bool runs_alone = false;        // the rank did nothing else meanwhile
  bool awaits_work = false;       // though queued, it starts no sooner than the own work comes to its place
  bool begins_launching = false;  // the first launch after the end of `behind`
  bool host_bound = false;        // launch limits the start; false where unknown, or the host is far ahead
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t line_ns = 0;  // when the rank's own work had come there: before the start where it had to wait longer
  int64_t launch_ns = kNoTime;
  int64_t launch_gap_ns = 0;  // least time from launch to start
  int64_t tied_cut_ns = 0;    // by how much `passed` shortens device_ns
  int32_t join_first = 0;     // into ReplayGraph::joins
  int32_t join_count = 0;
  int32_t passed = -1;  // node of another rank: end of an instance that this one took part in unrecorded; own times
                        // count from there
  int32_t queued = -1;  // node that it started right after, whatever the own work: of the rank, or of another one where
                        // the rank's own record is lost
  int32_t serial = -1;  // node of the same communicator before it: never overtaken
  int32_t behind = -1;  // node after whose end the host launched this one's step; -1: the anchor tells
  int32_t instance = -1;
  int32_t awaits = kNobody;  // node, or as above
  int32_t position = -1;     // index into ReplayGraph::positions
  float after_host = 0;      // share of device_ns after the last time that the host held the device up

  [[nodiscard]] bool is_anchor(int32_t self) const { return anchor == self; }
};

// A member of an instance that has no record of it and came last: the others waited for it.
struct ReplayAbsent {
  int32_t after = -1;      // node of its rank, from whose end on it took always the same time to come
  int64_t arrival_ns = 0;  // as measured
};

// A place in the program: the n-th instance of a communicator in its step.
struct ReplayPosition {
  uint32_t communicator = 0;
  int32_t ordinal = 0;
};

// Of the sends and receives of two ranks: which of the two, and the n-th of theirs in its step.
struct ReplayPairPlace {
  int32_t pair = -1;  // a number in the communicator, the same in communicators of equal programs; -1: no pair
  int32_t nth = -1;   // -1: not known, because in the step some are lost, or rows did not find each other
};

// Ranks whose times a replay computes without looking at the others: a party, or several where one passed by another.
struct ReplayGroup {
  std::vector<int32_t> ranks;  // ascending
  std::vector<int32_t> order;  // what to compute: node n starts (n), or instance i ends (-1 - i)
};

// Nodes in one stretch of memory. Room is made without being written: what is much is first touched by those who fill
// it, side by side. Moved once, not copied.
class ReplayNodes {
 public:
  ReplayNodes() = default;
  // Each is to be made by Make, once, before it is looked at.
  explicit ReplayNodes(size_t size)
      : size_(size), nodes_(static_cast<ReplayNode*>(::operator new(size * sizeof(ReplayNode)))) {}

  void Make(size_t n, const ReplayNode& node) { std::construct_at(nodes_.get() + n, node); }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] ReplayNode& operator[](size_t n) { return nodes_.get()[n]; }
  [[nodiscard]] const ReplayNode& operator[](size_t n) const { return nodes_.get()[n]; }
  [[nodiscard]] ReplayNode* data() { return nodes_.get(); }
  [[nodiscard]] ReplayNode* begin() { return nodes_.get(); }
  [[nodiscard]] ReplayNode* end() { return nodes_.get() + size_; }
  [[nodiscard]] const ReplayNode* begin() const { return nodes_.get(); }
  [[nodiscard]] const ReplayNode* end() const { return nodes_.get() + size_; }

 private:
  static_assert(std::is_trivially_destructible_v<ReplayNode>);
  struct Free {
    void operator()(ReplayNode* nodes) const { ::operator delete(nodes); }
  };

  size_t size_ = 0;
  std::unique_ptr<ReplayNode[], Free> nodes_;
};

struct ReplayGraph {
  ReplayNodes nodes;
  std::vector<size_t> first;                   // of each rank; one more than ranks
  std::vector<ReplayJoin> joins;               // node by node
  std::vector<std::vector<int32_t>> launched;  // nodes of each rank in order of launch
  std::vector<size_t> member_first;            // of each instance into members; one more than instances
  std::vector<int32_t> members;                // nodes
  std::vector<ReplayPosition> positions;
  std::vector<int32_t> position_of_instance;
  std::vector<ReplayPairPlace> pair_places;           // by instance
  absl::flat_hash_map<int32_t, ReplayAbsent> absent;  // by instance
  std::vector<size_t> party;  // by rank: the first of the ranks that wait for each other, directly or through others
  std::vector<ReplayGroup> groups;
  std::vector<size_t> group_of_rank;
  int64_t coupled = 0;  // nodes whose end may wait for another rank
  int64_t forced = 0;   // nodes that had to be taken as they are because their instances contradict each other

  // Null without.
  [[nodiscard]] const ReplayAbsent* AbsentOf(int32_t instance) const {
    if (absent.empty()) return nullptr;
    const auto at = absent.find(instance);
    return at == absent.end() ? nullptr : &at->second;
  }
  [[nodiscard]] const ReplayNode& node(int32_t n) const { return nodes[static_cast<size_t>(n)]; }
};

// Own work of a piece of this length that is done at a share of it.
[[nodiscard]] inline int64_t WorkAtShare(int64_t length_ns, float share) {
  return share >= 1 ? length_ns : static_cast<int64_t>(static_cast<double>(length_ns) * static_cast<double>(share));
}

[[nodiscard]] ReplayGraph BuildReplayGraph(const ArrivalGraph& graph, const MatchResult& match, Executor& executor);

}  // namespace lockstep
