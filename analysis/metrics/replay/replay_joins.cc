#include "analysis/metrics/replay/replay_joins.h"

#include <algorithm>
#include <map>

#include "analysis/base/executor.h"

namespace lockstep {
namespace {

constexpr int64_t kNever = INT64_MAX;
constexpr int64_t kFewest = 3;   // ends that fall together with a start by chance are fewer,
constexpr int64_t kRarest = 20;  // and rarer than one in this many

// Least own time seen at a place after work beside the compute, and after blocking work.
struct Seen {
  int64_t after_async_ns = kNever;
  int64_t after_blocking_ns = kNever;
  int32_t blocking_ordinal = -1;  // place of that blocking work in its communicator,
  size_t blocking_members = 0;    // and how many are in that
  int64_t nodes = 0;
  int64_t joins = 0;

  [[nodiscard]] bool is_join() const { return joins >= kFewest && joins * kRarest >= nodes; }
};

void SetBlocking(const ReplayNode& predecessor, const MatchResult& match, const ReplayGraph& graph, Seen& seen) {
  if (predecessor.position < 0) return;
  const ReplayPosition& position = graph.positions[static_cast<size_t>(predecessor.position)];
  seen.blocking_ordinal = position.ordinal;
  seen.blocking_members = match.communicators[position.communicator].members.size();
}

std::vector<Seen> SeenAt(const std::vector<bool>& async, const MatchResult& match, const ReplayGraph& graph) {
  std::vector<Seen> out(graph.positions.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const ReplayNode& node = graph.nodes[n];
    if (node.position < 0 || node.predecessor < 0 || !node.told) continue;
    Seen& seen = out[static_cast<size_t>(node.position)];
    const bool joins = async[static_cast<size_t>(node.predecessor)];
    int64_t& least = joins ? seen.after_async_ns : seen.after_blocking_ns;
    if (!joins && node.device_ns < least) SetBlocking(graph.node(node.predecessor), match, graph, seen);
    least = std::min(least, node.device_ns);
    ++seen.nodes;
    if (joins) ++seen.joins;
  }
  return out;
}

// Last node of a rank that ended, by kind; fed in order of start.
class LastEnded {
 public:
  void Add(int32_t node, int64_t end_ns, bool async) { running_.emplace(end_ns, std::make_pair(node, async)); }
  void AdvanceTo(int64_t now_ns) {
    while (!running_.empty() && running_.begin()->first <= now_ns) {
      const auto& [node, async] = running_.begin()->second;
      (async ? async_ : blocking_) = node;
      running_.erase(running_.begin());
    }
  }
  [[nodiscard]] int32_t Of(bool async) const { return async ? async_ : blocking_; }

 private:
  std::multimap<int64_t, std::pair<int32_t, bool>> running_;
  int32_t async_ = -1;
  int32_t blocking_ = -1;
};

// Work beside the compute ended just before something started: the compute since the last blocking work was the cause.
void Repoint(int32_t blocking, const ReplayGraph& graph, ReplayNode& node) {
  if (blocking < 0 || node.passed >= 0) return;
  const int64_t hidden = graph.node(node.predecessor).end_ns - graph.node(blocking).end_ns;
  if (hidden < 0) return;
  node.predecessor = blocking;
  node.compute_ns += hidden;
  node.device_ns += hidden;
}

// The row at this place of the program that came last before node n; -1: none.
int32_t LastAt(int32_t ordinal, size_t members, size_t n, size_t first, const MatchResult& match,
               const ReplayGraph& graph) {
  for (size_t other = n; other-- > first;) {
    const ReplayNode& node = graph.nodes[other];
    if (node.position < 0) continue;
    const ReplayPosition& position = graph.positions[static_cast<size_t>(node.position)];
    if (position.ordinal != ordinal || match.communicators[position.communicator].members.size() != members) continue;
    return node.end_ns <= graph.nodes[n].start_ns ? static_cast<int32_t>(other) : -1;
  }
  return -1;
}

void AddJoin(const Seen& seen, int32_t other, bool other_is_async, const ReplayGraph& graph, ReplayNode& node) {
  if (other < 0) return;
  int64_t least = other_is_async ? seen.after_async_ns : seen.after_blocking_ns;
  if (least == kNever) least = seen.after_async_ns;  // what waits for both does its own work after either
  node.join = other;
  node.join_gap_ns = std::min(node.start_ns - graph.node(other).end_ns, std::max<int64_t>(0, least));
}

// Looks at nodes of this rank alone.
void AddJoinsOf(size_t rank, const std::vector<Seen>& seen, const std::vector<bool>& async, const MatchResult& match,
                ReplayGraph& graph) {
  LastEnded last;
  for (size_t n = graph.first[rank]; n < graph.first[rank + 1]; ++n) {
    ReplayNode& node = graph.nodes[n];
    last.AdvanceTo(node.start_ns);
    last.Add(static_cast<int32_t>(n), node.end_ns, async[n]);
    if (node.position < 0 || node.predecessor < 0) continue;
    const Seen& here = seen[static_cast<size_t>(node.position)];
    const bool after_async = async[static_cast<size_t>(node.predecessor)];
    if (async[n]) {
      node.after_async = after_async;
      if (after_async && here.blocking_ordinal >= 0) {
        const int32_t before = LastAt(here.blocking_ordinal, here.blocking_members, n, graph.first[rank], match, graph);
        AddJoin(here, before, false, graph, node);
      }
    } else if (here.is_join()) {
      AddJoin(here, last.Of(!after_async), !after_async, graph, node);
      node.after_async = after_async;
    } else if (after_async) {
      Repoint(last.Of(false), graph, node);
    }
  }
}

}  // namespace

void AddJoins(const std::vector<bool>& async, const MatchResult& match, Executor& executor, ReplayGraph& graph) {
  const std::vector<Seen> seen = SeenAt(async, match, graph);
  executor.ParallelFor(graph.first.size() - 1, [&](size_t rank) { AddJoinsOf(rank, seen, async, match, graph); });
}

}  // namespace lockstep
