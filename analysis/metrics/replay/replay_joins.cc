#include "analysis/metrics/replay/replay_joins.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

class SparedJoins {
 public:
  explicit SparedJoins(ReplayGraph& graph) : graph_(graph), is_joined_(graph.nodes.size()) {
    for (const ReplayJoin& join : graph.joins) is_joined_[static_cast<size_t>(join.node)] = true;
  }

  void Run() {
    for (size_t i = 0; i + 1 < graph_.member_first.size(); ++i) OfInstance(i);
    if (!added_.empty()) Insert();
  }

 private:
  struct Added {
    int32_t to = 0;  // node
    ReplayJoin join;
  };
  struct Votes {
    int64_t count = 0;
    double share = 0;  // sum
  };

  void OfInstance(size_t instance) {
    std::map<int32_t, Votes> votes;  // by the instance that was waited for
    const auto members = static_cast<int64_t>(graph_.member_first[instance + 1] - graph_.member_first[instance]);
    for (size_t m = graph_.member_first[instance]; m < graph_.member_first[instance + 1]; ++m) {
      const ReplayNode& node = graph_.node(graph_.members[m]);
      for (int32_t j = node.join_first; j < node.join_first + node.join_count; ++j) {
        const ReplayJoin& join = graph_.joins[static_cast<size_t>(j)];
        const int32_t joined = graph_.node(join.node).instance;
        if (joined < 0) continue;
        Votes& of = votes[joined];
        ++of.count;
        of.share += static_cast<double>(join.at_share);
      }
    }
    for (const auto& [joined, of] : votes) {
      if (2 * of.count < members || of.count == members) continue;
      const auto share = static_cast<float>(of.share / static_cast<double>(of.count));
      for (size_t m = graph_.member_first[instance]; m < graph_.member_first[instance + 1]; ++m) {
        Consider(graph_.members[m], joined, share);
      }
    }
  }

  // The rank's own node of an instance, whose members are in order of rank; -1: it has none.
  [[nodiscard]] int32_t NodeIn(int32_t instance, int32_t rank) const {
    const auto at = static_cast<size_t>(instance);
    const auto end = graph_.members.begin() + static_cast<std::ptrdiff_t>(graph_.member_first[at + 1]);
    const auto found = std::lower_bound(graph_.members.begin() + static_cast<std::ptrdiff_t>(graph_.member_first[at]),
                                        end, static_cast<int32_t>(graph_.first[static_cast<size_t>(rank)]));
    return found != end && graph_.node(*found).rank == rank ? *found : -1;
  }

  void Consider(int32_t n, int32_t joined, float share) {
    const ReplayNode& node = graph_.node(n);
    if (!node.follows || node.passed >= 0) return;
    const int32_t other = NodeIn(joined, node.rank);
    if (other < 0 || other >= n || is_joined_[static_cast<size_t>(other)]) return;
    share = std::min(share, node.at_share);
    const int64_t piece_ns = graph_.node(node.piece).device_ns;
    const int64_t there_ns = node.line_ns - WorkAtShare(piece_ns, node.at_share) + WorkAtShare(piece_ns, share);
    if (graph_.node(other).end_ns > there_ns) return;  // it did not wait for it: it needs it elsewhere
    added_.push_back({n, {other, share}});
  }

  void Insert() {
    std::sort(added_.begin(), added_.end(), [](const Added& a, const Added& b) { return a.to < b.to; });
    auto next = added_.begin();
    std::vector<ReplayJoin> joins;
    joins.reserve(graph_.joins.size() + added_.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      ReplayNode& node = graph_.nodes[n];
      const auto begin = joins.size();
      const auto first = graph_.joins.begin() + node.join_first;
      joins.insert(joins.end(), first, first + node.join_count);
      for (; next != added_.end() && next->to == static_cast<int32_t>(n); ++next) joins.push_back(next->join);
      std::stable_sort(joins.begin() + static_cast<std::ptrdiff_t>(begin), joins.end(),
                       [](const ReplayJoin& a, const ReplayJoin& b) { return a.at_share < b.at_share; });
      node.join_first = static_cast<int32_t>(begin);
      node.join_count = static_cast<int32_t>(joins.size() - begin);
    }
    graph_.joins = std::move(joins);
  }

  ReplayGraph& graph_;
  std::vector<bool> is_joined_;  // by node
  std::vector<Added> added_;
};

}  // namespace

void AddSparedJoins(ReplayGraph& graph) { SparedJoins(graph).Run(); }

}  // namespace lockstep
