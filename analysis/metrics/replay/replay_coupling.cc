#include "analysis/metrics/replay/replay_coupling.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

struct Pair {
  int32_t sender = -1;  // nodes
  int32_t receiver = -1;
};

int32_t NodeOf(const ReplayGraph& graph, const MatchedMember& member) {
  return static_cast<int32_t>(graph.first[static_cast<size_t>(member.rank_index)] + static_cast<size_t>(member.row));
}

bool IsPair(const MatchedInstance& instance) {
  if (instance.all_pairs || instance.members.size() != 2) return false;
  return instance.op == CollectiveOp::kSendRecv || instance.op == CollectiveOp::kSend ||
         instance.op == CollectiveOp::kRecv;
}

// Who of a pair sends: who starts later is waited for by a receiver. A sender may wait for a late receiver just as
// well, so what is waited for at the same place of the program in most steps decides.
class PairRoles {
 public:
  PairRoles(const MatchResult& match, const ReplayGraph& graph) : match_(match), graph_(graph) {
    CountPlaces();
    for (size_t i = 0; i < match.instances.size(); ++i) {
      if (places_[i] < 0) continue;
      const int waits = FirstWaits(match.instances[i]);
      if (waits >= 0) ++votes_[{KeyOf(match.instances[i]), places_[i]}].of[waits];
    }
  }

  [[nodiscard]] Pair Of(size_t i) const {
    const MatchedInstance& instance = match_.instances[i];
    const bool first_receives = FirstReceives(i, instance);
    const MatchedMember& sender = instance.members[first_receives ? 1 : 0];
    const MatchedMember& receiver = instance.members[first_receives ? 0 : 1];
    return {.sender = NodeOf(graph_, sender), .receiver = NodeOf(graph_, receiver)};
  }

 private:
  using PairKey = std::tuple<uint32_t, int32_t, int32_t>;  // communicator and ranks
  struct Votes {
    std::array<int64_t, 2> of = {};  // for the second member as the receiver, for the first one
  };

  // Only of steps in which none of the pair's is lost.
  void CountPlaces() {
    std::map<std::pair<PairKey, int64_t>, int32_t> counts;  // of a pair and a step
    std::map<PairKey, int32_t> most;
    places_.resize(match_.instances.size(), -1);
    const auto counts_at = [&](size_t i) {
      const MatchedInstance& instance = match_.instances[i];
      return instance.step != kNoStep && instance.usable() && IsPair(instance);
    };
    for (size_t i = 0; i < match_.instances.size(); ++i) {
      if (!counts_at(i)) continue;
      const PairKey pair = KeyOf(match_.instances[i]);
      places_[i] = counts[{pair, match_.instances[i].step}]++;
      most[pair] = std::max(most[pair], places_[i] + 1);
    }
    for (size_t i = 0; i < match_.instances.size(); ++i) {
      if (!counts_at(i)) continue;
      const PairKey pair = KeyOf(match_.instances[i]);
      if (counts[{pair, match_.instances[i].step}] < most[pair]) places_[i] = -1;
    }
  }

  static PairKey KeyOf(const MatchedInstance& instance) {
    return {instance.communicator, instance.members[0].rank_index, instance.members[1].rank_index};
  }

  // Whether the first member waited, or the second one (0); -1: neither.
  static int FirstWaits(const MatchedInstance& instance) {
    const bool first_is_early = instance.members[0].start_ns <= instance.members[1].start_ns;
    const MatchedMember& early = instance.members[first_is_early ? 0 : 1];
    const MatchedMember& late = instance.members[first_is_early ? 1 : 0];
    if (early.awaits != late.rank_index) return -1;
    return first_is_early ? 1 : 0;
  }

  [[nodiscard]] bool FirstReceives(size_t i, const MatchedInstance& instance) const {
    constexpr int64_t kMostOf = 2;  // so often as the other one
    const auto votes = votes_.find({KeyOf(instance), places_[i]});
    if (instance.op == CollectiveOp::kSendRecv && places_[i] >= 0 && votes != votes_.end()) {
      const auto [second, first] = votes->second.of;
      if (first >= kMostOf * std::max<int64_t>(1, second)) return true;
      if (second >= kMostOf * std::max<int64_t>(1, first)) return false;
    }
    const bool first_is_early = instance.members[0].start_ns <= instance.members[1].start_ns;
    return (FirstWaits(instance) >= 0) == first_is_early;
  }

  const MatchResult& match_;
  const ReplayGraph& graph_;
  std::vector<int32_t> places_;  // by instance: the n-th of its pair in its step; -1: not known
  std::map<std::pair<PairKey, int32_t>, Votes> votes_;
};

bool IsExchange(const MatchedInstance& instance) {
  return instance.all_pairs || instance.op == CollectiveOp::kAllToAll || instance.op == CollectiveOp::kAllToAllV ||
         instance.op == CollectiveOp::kSendRecv;
}

bool ComesFromRoot(const MatchedInstance& instance) {
  return instance.op == CollectiveOp::kBroadcast || instance.op == CollectiveOp::kScatter;
}

// Senders of a communicator whose data stays with them until the receiver is there: seen from those who were early.
std::vector<bool> SendersWait(const MatchResult& match, const PairRoles& roles, const ReplayGraph& graph) {
  struct Count {
    int64_t early = 0;
    int64_t waited = 0;
  };
  std::vector<Count> counts(match.communicators.size());
  for (size_t i = 0; i < match.instances.size(); ++i) {
    const MatchedInstance& instance = match.instances[i];
    if (!instance.usable() || !IsPair(instance)) continue;
    const Pair pair = roles.Of(i);
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

// Rooted operations by communicator and kind in which all wait for all: data is passed on from member to member, and
// where it is more than their buffers hold, each moves it as fast as the slowest. Seen from those who waited for nobody
// as far as the operation tells: whoever came early ended with the last one all the same.
class RootedOfAll {
 public:
  explicit RootedOfAll(const MatchResult& match) {
    for (const MatchedInstance& instance : match.instances) {
      if (instance.usable() && IsRooted(instance)) Add(instance);
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

  static bool IsRooted(const MatchedInstance& instance) {
    return lockstep::ComesFromRoot(instance.op) || GoesToRoot(instance.op);
  }

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
      : match_(match),
        graph_(graph),
        roles_(match, graph),
        of_all_(match),
        senders_wait_(SendersWait(match, roles_, graph)) {}

  void Couple(size_t i) {
    const MatchedInstance& instance = match_.instances[i];
    if (IsPair(instance)) return CouplePair(i);
    if (of_all_.Holds(instance) || IsExchange(instance)) return CoupleExchange(instance, graph_);
    return ComesFromRoot(instance) ? CoupleFromRoot(instance, graph_) : CoupleToRoot(instance, graph_);
  }

 private:
  void CouplePair(size_t i) {
    const Pair pair = roles_.Of(i);
    graph_.nodes[static_cast<size_t>(pair.receiver)].awaits = pair.sender;
    if (senders_wait_[match_.instances[i].communicator]) {
      graph_.nodes[static_cast<size_t>(pair.sender)].awaits = pair.receiver;
    }
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
