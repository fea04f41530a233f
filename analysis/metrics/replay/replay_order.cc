#include "analysis/metrics/replay/replay_order.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/base/disjoint_sets.h"

namespace lockstep {
namespace {

class Orderer {
 public:
  explicit Orderer(ReplayGraph& graph) : graph_(graph), ended_(graph.nodes.size()) {
    for (size_t r = 0; r + 1 < graph.first.size(); ++r) next_.push_back(graph.first[r]);
    for (size_t i = 0; i + 1 < graph.member_first.size(); ++i) {
      open_.push_back(static_cast<int32_t>(graph.member_first[i + 1] - graph.member_first[i]));
    }
  }

  std::vector<int32_t> Run() {
    for (size_t r = next_.size(); r-- > 0;) ready_.push_back(static_cast<int32_t>(r));
    while (true) {
      while (!ready_.empty()) {
        const int32_t rank = ready_.back();
        ready_.pop_back();
        Advance(static_cast<size_t>(rank));
      }
      if (!Force()) return std::move(order_);
    }
  }

 private:
  // The node that this one has to see the end of first; -1: none.
  [[nodiscard]] int32_t Missing(const ReplayNode& node) const {
    for (const int32_t n : {node.passed, node.serial, node.queued, node.behind}) {
      if (n >= 0 && !ended_[static_cast<size_t>(n)]) return n;
    }
    for (int32_t j = node.join_first; j < node.join_first + node.join_count; ++j) {
      const int32_t n = graph_.joins[static_cast<size_t>(j)].node;
      if (!ended_[static_cast<size_t>(n)]) return n;
    }
    return -1;
  }

  [[nodiscard]] bool IsOfAnother(int32_t n, const ReplayNode& node) const { return graph_.node(n).rank != node.rank; }

  void Advance(size_t rank) {
    while (next_[rank] < graph_.first[rank + 1]) {
      const size_t n = next_[rank];
      ReplayNode& node = graph_.nodes[n];
      if (const int32_t missing = Missing(node); missing >= 0) {
        if (IsOfAnother(missing, node)) waiting_[missing].push_back(static_cast<int32_t>(rank));
        return;
      }
      // The host was blocked before it launched this one, and what it launched first then starts later. So this one is
      // taken for the first: counted from a time as measured, it would hold up all that comes behind.
      if (node.anchor >= 0 && static_cast<size_t>(node.anchor) > n) node.anchor = static_cast<int32_t>(n);
      ++next_[rank];
      Start(static_cast<int32_t>(n));
    }
  }

  void Start(int32_t n) {
    const ReplayNode& node = graph_.node(n);
    order_.push_back(n);
    if (node.awaits == kNobody) End(n);
    if (node.instance < 0) return;
    if (--open_[static_cast<size_t>(node.instance)] == 0) AllStarted(node.instance);
  }

  // It ends when a member without a record has come, too.
  void AllStarted(int32_t instance) {
    const ReplayAbsent* absent = graph_.AbsentOf(instance);
    if (absent == nullptr || ended_[static_cast<size_t>(absent->after)]) return Finish(instance);
    unended_.emplace(absent->after, instance);
  }

  void End(int32_t n) {
    ended_[static_cast<size_t>(n)] = true;
    while (true) {
      const auto unended = unended_.find(n);
      if (unended == unended_.end()) break;
      Finish(unended_.extract(unended).mapped());
    }
    const auto at = waiting_.find(n);
    if (at == waiting_.end()) return;
    ready_.insert(ready_.end(), at->second.begin(), at->second.end());
    waiting_.erase(at);
  }

  void Finish(int32_t instance) {
    order_.push_back(-1 - instance);
    const auto at = static_cast<size_t>(instance);
    for (size_t m = graph_.member_first[at]; m < graph_.member_first[at + 1]; ++m) {
      const int32_t n = graph_.members[m];
      End(n);
      ready_.push_back(graph_.node(n).rank);
    }
  }

  // Lets the first of the ranks that stand go on. False when all are through.
  bool Force() {
    if (!unended_.empty()) {
      const int32_t instance = unended_.extract(unended_.begin()).mapped();
      graph_.absent.erase(instance);
      ++graph_.forced;
      Finish(instance);
      return true;
    }
    int32_t first = -1;
    for (size_t r = 0; r < next_.size(); ++r) {
      if (next_[r] == graph_.first[r + 1]) continue;
      const auto n = static_cast<int32_t>(next_[r]);
      if (first < 0 || graph_.node(n).start_ns < graph_.node(first).start_ns) first = n;
    }
    if (first < 0) return false;
    const int32_t missing = Missing(graph_.node(first));
    if (ReplayNode& node = graph_.nodes[static_cast<size_t>(first)]; IsOfAnother(missing, node)) {
      if (missing == node.passed) {
        ForgetPassed(node);
      } else {
        node.queued = -1;
      }
      ready_.push_back(graph_.node(first).rank);
      ++graph_.forced;
      return true;
    }
    graph_.nodes[static_cast<size_t>(missing)].awaits = kNobody;  // it has started: it lies before on the same rank
    ended_[static_cast<size_t>(missing)] = true;
    ++graph_.forced;
    ready_.push_back(graph_.node(first).rank);
    return true;
  }

  // Its own time is again all since the start before.
  void ForgetPassed(ReplayNode& node) {
    node.device_ns += node.tied_cut_ns;
    node.passed = -1;
  }

  ReplayGraph& graph_;
  std::map<int32_t, std::vector<int32_t>> waiting_;  // ranks, by the node of another rank that they wait for
  std::multimap<int32_t, int32_t> unended_;  // instances all of whose records have started, by the node they wait for
  std::vector<bool> ended_;
  std::vector<size_t> next_;
  std::vector<int32_t> open_;
  std::vector<int32_t> ready_;
  std::vector<int32_t> order_;
};

int32_t RankOfOp(const ReplayGraph& graph, int32_t op) {
  return graph.node(op >= 0 ? op : graph.members[graph.member_first[static_cast<size_t>(-1 - op)]]).rank;
}

void AddGroups(ReplayGraph& graph) {
  const size_t ranks = graph.party.size();
  DisjointSets sets(ranks);
  for (size_t r = 0; r < ranks; ++r) sets.Join(r, graph.party[r]);
  for (const ReplayNode& node : graph.nodes) {
    for (const int32_t after : {node.passed, node.queued}) {
      if (after >= 0) sets.Join(static_cast<size_t>(node.rank), static_cast<size_t>(graph.node(after).rank));
    }
  }
  for (const auto& [instance, absent] : graph.absent) {
    const int32_t member = graph.members[graph.member_first[static_cast<size_t>(instance)]];
    sets.Join(static_cast<size_t>(graph.node(member).rank), static_cast<size_t>(graph.node(absent.after).rank));
  }
  graph.group_of_rank.resize(ranks);
  for (size_t r = 0; r < ranks; ++r) {
    const size_t first = sets.Find(r);
    if (first == r) graph.groups.emplace_back();
    graph.group_of_rank[r] = first == r ? graph.groups.size() - 1 : graph.group_of_rank[first];
    graph.groups[graph.group_of_rank[r]].ranks.push_back(static_cast<int32_t>(r));
  }
}

}  // namespace

void AddOrder(ReplayGraph& graph) {
  const std::vector<int32_t> order = Orderer(graph).Run();
  AddGroups(graph);
  for (const int32_t op : order) {
    graph.groups[graph.group_of_rank[static_cast<size_t>(RankOfOp(graph, op))]].order.push_back(op);
  }
}

}  // namespace lockstep
