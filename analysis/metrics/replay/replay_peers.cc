#include "analysis/metrics/replay/replay_peers.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/metrics/match/communicator_ranks.h"

namespace lockstep {
namespace {

// Communicators that do the same job: of one size, with the same operations at the same places.
using JobKey = std::tuple<size_t, int32_t, CollectiveOp, int64_t>;

constexpr int32_t kMostMembers = 32'768;  // so that two numbers make one

// The two ends of a transfer are at different places of their programs, also where each sends to the other.
bool IsPairwise(const MatchedInstance& instance) { return instance.members.size() <= 2 && IsSendOrReceive(instance); }

// Of a communicator of two each instance is of both, whoever has a record.
int32_t PairOf(const MatchedInstance& instance, const std::vector<int32_t>& ranks) {
  constexpr size_t kTwo = 2;
  if (ranks.size() == kTwo) return 1;
  int32_t pair = 0;
  for (const MatchedMember& m : instance.members) {
    const auto at = std::lower_bound(ranks.begin(), ranks.end(), m.rank_index);
    pair = pair * kMostMembers + static_cast<int32_t>(at - ranks.begin()) % kMostMembers;
  }
  return pair;
}

// Counts the transfers of pairs in their steps. Where a step has fewer than others, some are lost, and nothing tells
// which.
class PairCounter {
 public:
  PairCounter(const MatchResult& match, const std::vector<std::vector<int32_t>>& ranks) : ranks_(ranks) {
    for (const MatchedInstance& instance : match.instances) {
      if (!IsPairwise(instance)) continue;
      const auto [communicator, pair] = KeyOf(instance);
      int32_t& most = most_[{communicator, pair}];
      most = std::max(most, ++in_step_[{communicator, pair, instance.step}]);
    }
  }

  [[nodiscard]] int32_t PairOfInstance(const MatchedInstance& instance) const { return KeyOf(instance).second; }
  // The n-th of its pair in its step; -1: not known. Each instance once, in order.
  int32_t Next(const MatchedInstance& instance) {
    const auto [communicator, pair] = KeyOf(instance);
    const std::tuple step(communicator, pair, instance.step);
    if (in_step_.at(step) < most_.at({communicator, pair})) return -1;
    return met_[step]++;
  }

 private:
  [[nodiscard]] std::pair<uint32_t, int32_t> KeyOf(const MatchedInstance& instance) const {
    return {instance.communicator, PairOf(instance, ranks_[instance.communicator])};
  }

  const std::vector<std::vector<int32_t>>& ranks_;
  std::map<std::pair<uint32_t, int32_t>, int32_t> most_;
  std::map<std::tuple<uint32_t, int32_t, int64_t>, int32_t> in_step_;
  std::map<std::tuple<uint32_t, int32_t, int64_t>, int32_t> met_;
};

}  // namespace

ReplayPeers::ReplayPeers(const ReplayGraph& graph, const MatchResult& match)
    : graph_(graph), places_(match.communicators.size()), like_(match.communicators.size()) {
  std::vector<JobKey> keys(match.communicators.size());
  const std::vector<std::vector<int32_t>> members = RanksOfCommunicators(match);
  PairCounter pairs(match, members);
  for (size_t i = 0; i < match.instances.size(); ++i) {
    const MatchedInstance& instance = match.instances[i];
    const int32_t ordinal = graph.positions[static_cast<size_t>(graph.position_of_instance[i])].ordinal;
    const int32_t pair = IsPairwise(instance) ? pairs.PairOfInstance(instance) : -1;
    int32_t place = pair < 0 ? ordinal : pairs.Next(instance);
    if (place < 0) place = -1 - static_cast<int32_t>(i);  // like none
    key_.push_back({instance.step, pair, place, static_cast<int32_t>(i)});
    places_[instance.communicator].push_back(key_.back());
    JobKey& key = keys[instance.communicator];
    if (ordinal >= std::get<1>(key)) {
      key = {match.communicators[instance.communicator].members.size(), ordinal, instance.op, instance.bytes};
    }
  }
  std::map<JobKey, std::vector<uint32_t>> jobs;
  for (uint32_t c = 0; c < keys.size(); ++c) jobs[keys[c]].push_back(c);
  for (uint32_t c = 0; c < keys.size(); ++c) {
    for (const uint32_t other : jobs[keys[c]]) {
      if (other != c && like_[c].size() < kMost) like_[c].push_back(other);
    }
    std::sort(places_[c].begin(), places_[c].end(), [](const Place& a, const Place& b) {
      return std::tuple(a.key(), a.instance) < std::tuple(b.key(), b.instance);
    });
  }
}

std::vector<int32_t> ReplayPeers::InstancesLike(int32_t instance) const {
  std::vector<int32_t> out = {instance};
  const ReplayPosition& position =
      graph_.positions[static_cast<size_t>(graph_.position_of_instance[static_cast<size_t>(instance)])];
  const Place& wanted = key_[static_cast<size_t>(instance)];
  for (const uint32_t c : like_[position.communicator]) {
    const auto at = std::lower_bound(places_[c].begin(), places_[c].end(), wanted,
                                     [](const Place& a, const Place& b) { return a.key() < b.key(); });
    if (at != places_[c].end() && at->key() == wanted.key()) out.push_back(at->instance);
  }
  return out;
}

}  // namespace lockstep
