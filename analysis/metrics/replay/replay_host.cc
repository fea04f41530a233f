#include "analysis/metrics/replay/replay_host.h"

#include <algorithm>

#include "analysis/base/executor.h"
#include "analysis/metrics/replay/replay_ahead.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr int64_t kUsualLatencyNs = 5'000;
constexpr int32_t kFewStepLaunches = 4;

// Of one launch.
struct Evidence {
  bool launched = false;
  bool blocked = false;   // only after the work launched before had ended,
  bool ahead = false;     // though the host had been well ahead with that
  bool boundary = false;  // first launch of a step
};

// Of several.
struct EvidenceCount {
  int32_t members = 0;
  int32_t blocked = 0;
  int32_t ahead = 0;  // of those that were blocked
  int32_t boundary = 0;

  void Add(const Evidence& own) {
    members += own.launched ? 1 : 0;
    blocked += own.blocked ? 1 : 0;
    ahead += own.blocked && own.ahead ? 1 : 0;
    boundary += own.boundary ? 1 : 0;
  }
};

// The nodes of a rank in order of launch.
std::vector<int32_t> LaunchesOf(const ReplayGraph& graph, size_t rank) {
  std::vector<int32_t> order;
  for (size_t n = graph.first[rank]; n < graph.first[rank + 1]; ++n) {
    if (graph.nodes[n].launch_ns != kNoTime) order.push_back(static_cast<int32_t>(n));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return graph.node(a).launch_ns < graph.node(b).launch_ns; });
  return order;
}

void AddLatencies(const std::vector<int32_t>& order, ReplayGraph& graph) {
  int64_t least = kUsualLatencyNs;
  for (const int32_t n : order) {
    const int64_t latency = graph.node(n).start_ns - graph.node(n).launch_ns;
    if (latency > 0) least = std::min(least, latency);
  }
  for (const int32_t n : order) {
    ReplayNode& node = graph.nodes[static_cast<size_t>(n)];
    node.launch_gap_ns = std::min(least, node.start_ns - node.launch_ns);
  }
}

class BlockFinder {
 public:
  BlockFinder(const ArrivalGraph& source, const MatchResult& match, ReplayGraph& graph)
      : source_(source),
        graph_(graph),
        evidence_(match.instances.size()),
        own_(graph.nodes.size()),
        steps_(graph.launched.size()) {}

  // Looks at launches of this rank alone, of several ranks at once.
  void Collect(size_t rank) {
    const std::vector<int32_t>& order = graph_.launched[rank];
    CollectOwn(order);
    for (const int32_t n : order) {
      const Evidence& own = own_[static_cast<size_t>(n)];
      if (own.boundary) steps_[rank].Add(own);
    }
  }
  // After all ranks are collected.
  void CountInstances() {
    for (size_t n = 0; n < own_.size(); ++n) {
      const int32_t instance = graph_.nodes[n].instance;
      if (own_[n].launched && instance >= 0) evidence_[static_cast<size_t>(instance)].Add(own_[n]);
    }
  }
  // Then each rank for itself again.
  void Decide(size_t rank) {
    const std::vector<int32_t>& order = graph_.launched[rank];
    int32_t anchor = -1;
    const ReplayNode* before = nullptr;
    for (size_t i = 0; i < order.size(); ++i) {
      const int32_t n = order[i];
      ReplayNode& node = graph_.nodes[static_cast<size_t>(n)];
      const bool block = node.follows && IsBlock(node, own_[static_cast<size_t>(n)]);
      if (block || !node.follows) anchor = n;
      node.anchor = anchor;
      if (before != nullptr && !block) node.host_step_ns = node.launch_ns - before->launch_ns;
      before = &node;
    }
  }

 private:
  [[nodiscard]] int64_t StepOf(const ReplayNode& node, int32_t n) const {
    const auto rank = static_cast<size_t>(node.rank);
    return source_.ranks[rank][static_cast<size_t>(n) - graph_.first[rank]].step;
  }

  // The last row before the first launch that ran alone: launched before the capture began. -1: there is none.
  [[nodiscard]] int32_t LaunchedUnseen(const std::vector<int32_t>& order) const {
    if (order.empty()) return -1;
    const auto first = static_cast<int32_t>(graph_.first[static_cast<size_t>(graph_.node(order.front()).rank)]);
    for (int32_t n = order.front() - 1; n >= first; --n) {
      if (graph_.node(n).launch_ns == kNoTime && graph_.node(n).runs_alone) return n;
    }
    return -1;
  }

  void CollectOwn(const std::vector<int32_t>& order) {
    int32_t last = LaunchedUnseen(order);  // launched before, on the compute's side
    int64_t step = last < 0 ? kNoStep : StepOf(graph_.node(last), last);
    for (const int32_t n : order) {
      const ReplayNode& node = graph_.node(n);
      Evidence& own = own_[static_cast<size_t>(n)];
      own.launched = true;
      if (last >= 0) {
        const ReplayNode& before = graph_.node(last);
        own.blocked = node.launch_ns >= before.end_ns;
        own.ahead = before.launch_ns != kNoTime && before.start_ns - before.launch_ns > kAheadNs;
        own.boundary = StepOf(node, n) != step;
      }
      if (node.runs_alone) last = n;
      step = StepOf(node, n);
    }
  }

  // A rank whose host is blocked at the begin of nearly every step has a program that waits there, even where its
  // instance's other members are elsewhere in theirs.
  [[nodiscard]] bool IsBlock(const ReplayNode& node, const Evidence& own) const {
    if (!own.blocked) return false;
    const EvidenceCount& steps = steps_[static_cast<size_t>(node.rank)];
    if (own.boundary && steps.members >= kFewStepLaunches && steps.blocked * 10 >= steps.members * 9) return true;
    if (node.instance < 0) return own.boundary || own.ahead;
    const EvidenceCount& all = evidence_[static_cast<size_t>(node.instance)];
    if (all.blocked * 2 <= all.members) return false;
    return all.boundary * 2 > all.members || all.ahead * 2 > all.members;
  }

  const ArrivalGraph& source_;
  ReplayGraph& graph_;
  std::vector<EvidenceCount> evidence_;  // of each instance
  std::vector<Evidence> own_;            // of each node
  std::vector<EvidenceCount> steps_;     // of each rank, its first launches of steps
};

// With the launch queue full the host is as far ahead as it ever gets, and follows the device.
void MarkHostBound(const std::vector<int32_t>& order, ReplayGraph& graph) {
  constexpr int64_t kManyRows = 16;
  std::vector<int64_t> ahead(order.size());
  size_t done = 0;
  int64_t most = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    while (done < i && graph.node(order[done]).start_ns <= graph.node(order[i]).launch_ns) ++done;
    ahead[i] = static_cast<int64_t>(i - done);
    most = std::max(most, ahead[i]);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    const bool full = most >= kManyRows && ahead[i] * 4 >= most * 3;
    graph.nodes[static_cast<size_t>(order[i])].host_bound = !full;
  }
}

void AddShareAfterHost(const std::vector<int32_t>& order, ReplayGraph& graph) {
  for (const int32_t n : order) {
    ReplayNode& node = graph.nodes[static_cast<size_t>(n)];
    if (node.device_ns <= 0) continue;
    const int64_t lead = std::clamp<int64_t>(node.start_ns - node.launch_ns - node.launch_gap_ns, 0, node.device_ns);
    node.after_host = static_cast<float>(static_cast<double>(lead) / static_cast<double>(node.device_ns));
  }
}

}  // namespace

void AddHost(const ArrivalGraph& source, const MatchResult& match, Executor& executor, ReplayGraph& graph) {
  graph.launched.resize(graph.first.size() - 1);
  executor.ParallelFor(graph.launched.size(), [&](size_t rank) {
    graph.launched[rank] = LaunchesOf(graph, rank);
    AddLatencies(graph.launched[rank], graph);
    MarkHostBound(graph.launched[rank], graph);
  });
  BlockFinder blocks(source, match, graph);
  executor.ParallelFor(graph.launched.size(), [&](size_t rank) { blocks.Collect(rank); });
  blocks.CountInstances();
  executor.ParallelFor(graph.launched.size(), [&](size_t rank) {
    blocks.Decide(rank);
    AddRunAhead(source, rank, graph);
    AddShareAfterHost(graph.launched[rank], graph);
  });
}

}  // namespace lockstep
