#include "analysis/metrics/replay/replay_coupling.h"

#include <algorithm>
#include <map>
#include <vector>

namespace lockstep {
namespace {

struct Pair {
  int32_t sender = -1;  // nodes
  int32_t receiver = -1;
};

int32_t NodeOf(const ReplayGraph& graph, const MatchedMember& member) {
  return static_cast<int32_t>(graph.first[static_cast<size_t>(member.rank_index)] + static_cast<size_t>(member.row));
}

// The one that starts later is waited for only if it sends.
Pair RolesOf(const MatchedInstance& instance, const ReplayGraph& graph) {
  const MatchedMember* early = &instance.members[0];
  const MatchedMember* late = &instance.members[1];
  if (late->start_ns < early->start_ns) std::swap(early, late);
  const bool early_receives = early->awaits == late->rank_index;
  return {.sender = NodeOf(graph, early_receives ? *late : *early),
          .receiver = NodeOf(graph, early_receives ? *early : *late)};
}

bool IsPair(const MatchedInstance& instance) {
  if (instance.all_pairs || instance.members.size() != 2) return false;
  return instance.op == CollectiveOp::kSendRecv || instance.op == CollectiveOp::kSend ||
         instance.op == CollectiveOp::kRecv;
}

bool IsExchange(const MatchedInstance& instance) {
  return instance.all_pairs || instance.op == CollectiveOp::kAllToAll || instance.op == CollectiveOp::kAllToAllV ||
         instance.op == CollectiveOp::kSendRecv;
}

bool ComesFromRoot(const MatchedInstance& instance) {
  return instance.op == CollectiveOp::kBroadcast || instance.op == CollectiveOp::kScatter;
}

// Senders of a communicator whose data stays with them until the receiver is there: seen from those who were early.
std::vector<bool> SendersWait(const MatchResult& match, const ReplayGraph& graph) {
  struct Count {
    int64_t early = 0;
    int64_t waited = 0;
  };
  std::vector<Count> counts(match.communicators.size());
  for (const MatchedInstance& instance : match.instances) {
    if (!instance.usable() || !IsPair(instance)) continue;
    const Pair pair = RolesOf(instance, graph);
    const ReplayNode& sender = graph.node(pair.sender);
    const ReplayNode& receiver = graph.node(pair.receiver);
    if (sender.start_ns >= receiver.start_ns) continue;
    Count& count = counts[instance.communicator];
    ++count.early;
    if (sender.end_ns > receiver.start_ns) ++count.waited;
  }
  std::vector<bool> out;
  for (const Count& count : counts) out.push_back(count.early > 0 && count.waited * 10 >= count.early * 9);
  return out;
}

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

void Couple(const MatchedInstance& instance, bool sender_waits, ReplayGraph& graph) {
  if (IsExchange(instance) && !IsPair(instance)) return CoupleExchange(instance, graph);
  if (!IsPair(instance)) {
    return ComesFromRoot(instance) ? CoupleFromRoot(instance, graph) : CoupleToRoot(instance, graph);
  }
  const Pair pair = RolesOf(instance, graph);
  graph.nodes[static_cast<size_t>(pair.receiver)].awaits = pair.sender;
  if (sender_waits) graph.nodes[static_cast<size_t>(pair.sender)].awaits = pair.receiver;
}

}  // namespace

void AddCoupling(const MatchResult& match, ReplayGraph& graph) {
  const std::vector<bool> senders_wait = SendersWait(match, graph);
  graph.member_first.reserve(match.instances.size() + 1);
  graph.members.reserve(graph.nodes.size());
  for (const MatchedInstance& instance : match.instances) {
    graph.member_first.push_back(graph.members.size());
    for (const MatchedMember& m : instance.members) graph.members.push_back(NodeOf(graph, m));
    if (instance.usable()) Couple(instance, senders_wait[instance.communicator], graph);
  }
  graph.member_first.push_back(graph.members.size());
  for (const ReplayNode& node : graph.nodes) {
    const bool usable = node.instance >= 0 && match.instances[static_cast<size_t>(node.instance)].usable();
    if (usable) ++graph.coupled;
  }
}

}  // namespace lockstep
