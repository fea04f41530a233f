#include "analysis/metrics/replay/replay_coupling.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analysis/metrics/replay/replay_pairs.h"

namespace lockstep {
namespace {

int32_t NodeOf(const ReplayGraph& graph, const MatchedMember& member) {
  return static_cast<int32_t>(graph.first[static_cast<size_t>(member.rank_index)] + static_cast<size_t>(member.row));
}

bool IsExchange(const MatchedInstance& instance) {
  return instance.all_pairs || instance.op == CollectiveOp::kAllToAll || instance.op == CollectiveOp::kAllToAllV ||
         instance.op == CollectiveOp::kSendRecv;
}

bool ComesFromRoot(const MatchedInstance& instance) {
  return instance.op == CollectiveOp::kBroadcast || instance.op == CollectiveOp::kScatter;
}

// Senders of a communicator whose data stays with them until the receiver is there: seen from those who were early.
std::vector<bool> SendersWait(const MatchResult& match, const PairRoles& roles) {
  struct Count {
    int64_t early = 0;
    int64_t waited = 0;
  };
  std::vector<Count> counts(match.communicators.size());
  for (size_t i = 0; i < match.instances.size(); ++i) {
    const MatchedInstance& instance = match.instances[i];
    if (!instance.usable() || !PairRoles::IsOneWay(instance)) continue;
    const PairRole role = roles.Of(i);
    const MatchedMember& sender = instance.members[role.sender];
    const MatchedMember& receiver = instance.members[role.receiver];
    if (sender.start_ns >= receiver.start_ns) continue;
    Count& count = counts[instance.communicator];
    ++count.early;
    if (sender.end_ns > receiver.start_ns) ++count.waited;
  }
  std::vector<bool> out;
  for (const Count& count : counts) out.push_back(count.early > 0 && count.waited * 10 >= count.early * 9);
  return out;
}

// Rooted operations by communicator and kind in which all wait for all: data is passed on from member to member, and
// where it is more than their buffers hold, each moves it as fast as the slowest. Seen from those who waited for nobody
// as far as the operation tells: whoever came early ended with the last one all the same.
class RootedOfAll {
 public:
  explicit RootedOfAll(const MatchResult& match) {
    for (const MatchedInstance& instance : match.instances) {
      const bool rooted = ComesFromRoot(instance) || GoesToRoot(instance.op);
      if (instance.usable() && rooted) Add(instance);
    }
  }

  [[nodiscard]] bool Holds(const MatchedInstance& instance) const {
    const auto at = counts_.find({instance.communicator, instance.op});
    return at != counts_.end() && at->second.early >= kFewest && at->second.together * 10 >= at->second.early * 9;
  }

 private:
  static constexpr int64_t kEarlyNs = 20'000;  // more than records scatter and clocks are off
  static constexpr int64_t kFewest = 8;
  struct Count {
    int64_t early = 0;
    int64_t together = 0;
  };

  void Add(const MatchedInstance& instance) {
    const auto last = std::max_element(instance.members.begin(), instance.members.end(),
                                       [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    for (const MatchedMember& m : instance.members) {
      const int64_t early_ns = last->start_ns - m.start_ns;
      if (early_ns < kEarlyNs || m.awaits >= 0) continue;
      Count& count = counts_[{instance.communicator, instance.op}];
      ++count.early;
      if (2 * (last->end_ns - m.end_ns) < early_ns) ++count.together;
    }
  }

  std::map<std::pair<uint32_t, CollectiveOp>, Count> counts_;
};

// Null: for nobody.
const MatchedMember* AwaitedBy(const MatchedInstance& instance, const MatchedMember& waiting) {
  if (waiting.awaits < 0) return nullptr;
  const auto awaited = std::find_if(instance.members.begin(), instance.members.end(),
                                    [&](const MatchedMember& m) { return m.rank_index == waiting.awaits; });
  return awaited == instance.members.end() ? nullptr : &*awaited;
}

void AwaitOne(const MatchedInstance& instance, const MatchedMember& waiting, ReplayGraph& graph) {
  const MatchedMember* awaited = AwaitedBy(instance, waiting);
  if (awaited == nullptr) return;
  graph.nodes[static_cast<size_t>(NodeOf(graph, waiting))].awaits = NodeOf(graph, *awaited);
}

void CoupleExchange(const MatchedInstance& instance, ReplayGraph& graph) {
  int64_t last_start_ns = INT64_MIN;
  for (const MatchedMember& m : instance.members) last_start_ns = std::max(last_start_ns, m.start_ns);
  for (const MatchedMember& m : instance.members) {
    // Without data from the last one, a member of an uneven exchange ends before that one starts.
    const bool waits = instance.all_pairs || m.end_ns >= last_start_ns;
    if (waits) graph.nodes[static_cast<size_t>(NodeOf(graph, m))].awaits = kEverybody;
    if (!waits) AwaitOne(instance, m, graph);
  }
}

// Whoever waited did so for all.
void CoupleToRoot(const MatchedInstance& instance, ReplayGraph& graph) {
  int64_t last_start_ns = INT64_MIN;
  for (const MatchedMember& m : instance.members) last_start_ns = std::max(last_start_ns, m.start_ns);
  for (const MatchedMember& waiting : instance.members) {
    if (waiting.awaits < 0) continue;
    const bool for_all = waiting.end_ns >= last_start_ns;
    if (for_all) graph.nodes[static_cast<size_t>(NodeOf(graph, waiting))].awaits = kEverybody;
    if (!for_all) AwaitOne(instance, waiting, graph);
  }
}

// Where all who waited did so for one, that is the root, which the others get their data from too. Else each got it
// from whom it waited for.
void CoupleFromRoot(const MatchedInstance& instance, ReplayGraph& graph) {
  const MatchedMember* root = nullptr;
  bool is_one = true;
  for (const MatchedMember& waiting : instance.members) {
    const MatchedMember* awaited = AwaitedBy(instance, waiting);
    if (awaited == nullptr) continue;
    is_one = is_one && (root == nullptr || root == awaited);
    root = awaited;
  }
  for (const MatchedMember& m : instance.members) {
    if (!is_one) AwaitOne(instance, m, graph);
    if (!is_one || root == nullptr || &m == root || m.end_ns < root->start_ns) continue;  // done before that one came
    graph.nodes[static_cast<size_t>(NodeOf(graph, m))].awaits = NodeOf(graph, *root);
  }
}

class Coupler {
 public:
  Coupler(const MatchResult& match, ReplayGraph& graph)
      : match_(match), graph_(graph), roles_(match, graph), of_all_(match), senders_wait_(SendersWait(match, roles_)) {}

  void Couple(size_t i) {
    const MatchedInstance& instance = match_.instances[i];
    if (PairRoles::IsOneWay(instance)) return CouplePair(i);
    if (of_all_.Holds(instance) || IsExchange(instance)) return CoupleExchange(instance, graph_);
    return ComesFromRoot(instance) ? CoupleFromRoot(instance, graph_) : CoupleToRoot(instance, graph_);
  }

 private:
  void CouplePair(size_t i) {
    const MatchedInstance& instance = match_.instances[i];
    const PairRole role = roles_.Of(i);
    const int32_t sender = NodeOf(graph_, instance.members[role.sender]);
    const int32_t receiver = NodeOf(graph_, instance.members[role.receiver]);
    graph_.nodes[static_cast<size_t>(receiver)].awaits = sender;
    const bool sender_waits = role.unsure || senders_wait_[instance.communicator];
    if (sender_waits) graph_.nodes[static_cast<size_t>(sender)].awaits = receiver;
  }

  const MatchResult& match_;
  ReplayGraph& graph_;
  PairRoles roles_;
  RootedOfAll of_all_;
  std::vector<bool> senders_wait_;  // by communicator
};

}  // namespace

void AddCoupling(const MatchResult& match, ReplayGraph& graph) {
  Coupler coupler(match, graph);
  graph.member_first.reserve(match.instances.size() + 1);
  graph.members.reserve(graph.nodes.size());
  for (size_t i = 0; i < match.instances.size(); ++i) {
    const MatchedInstance& instance = match.instances[i];
    graph.member_first.push_back(graph.members.size());
    for (const MatchedMember& m : instance.members) graph.members.push_back(NodeOf(graph, m));
    if (instance.usable()) coupler.Couple(i);
  }
  graph.member_first.push_back(graph.members.size());
  for (const ReplayNode& node : graph.nodes) {
    const bool usable = node.instance >= 0 && match.instances[static_cast<size_t>(node.instance)].usable();
    if (usable) ++graph.coupled;
  }
}

}  // namespace lockstep
