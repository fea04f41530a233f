#include "analysis/metrics/replay/replay_pairs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/metrics/match/communicator_ranks.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr size_t kTwo = 2;
constexpr int32_t kMostMembers = 32'768;  // so that two numbers make one

// Counts the instances of pairs in their steps.
class PairCounter {
 public:
  explicit PairCounter(const MatchResult& match) : ranks_(RanksOfCommunicators(match)) {
    for (const MatchedInstance& instance : match.instances) {
      const int32_t pair = PairOf(instance);
      if (pair < 0 || instance.step == kNoStep) continue;
      InStep& step = in_step_[{instance.communicator, pair, instance.step}];
      ++step.instances;
      int32_t& most = most_[{instance.communicator, pair}];
      for (const MatchedMember& m : instance.members) most = std::max(most, ++step.rows[m.rank_index]);
    }
  }

  // Each instance once, in order.
  ReplayPairPlace Next(const MatchedInstance& instance) {
    const int32_t pair = PairOf(instance);
    if (pair < 0) return {};
    const Key key(instance.communicator, pair, instance.step);
    return {.pair = pair, .nth = IsCounted(instance, key) ? met_[key]++ : -1};
  }

 private:
  using Key = std::tuple<uint32_t, int32_t, int64_t>;  // communicator, pair, step
  struct InStep {
    int32_t instances = 0;
    std::map<int32_t, int32_t> rows;  // by rank index
  };

  // Its step has as many instances as the most complete one. Fewer: some are lost. More: rows did not find each other.
  [[nodiscard]] bool IsCounted(const MatchedInstance& instance, const Key& key) const {
    if (IsHalf(instance)) return false;
    return instance.step == kNoStep ||
           in_step_.at(key).instances == most_.at({instance.communicator, std::get<1>(key)});
  }

  // One record is lost, and nothing tells whose partner it is.
  [[nodiscard]] bool IsHalf(const MatchedInstance& instance) const {
    return instance.members.size() < kTwo && ranks_[instance.communicator].size() != kTwo;
  }

  // The numbers of the members in their communicator, as one; -1: this is no pair. Of a communicator of two each
  // instance is of both, whoever has a record.
  [[nodiscard]] int32_t PairOf(const MatchedInstance& instance) const {
    if (instance.members.size() > kTwo || !IsSendOrReceive(instance)) return -1;
    const std::vector<int32_t>& ranks = ranks_[instance.communicator];
    if (ranks.size() == kTwo) return 1;
    int32_t pair = 0;
    for (const MatchedMember& m : instance.members) {
      const auto at = std::lower_bound(ranks.begin(), ranks.end(), m.rank_index);
      pair = pair * kMostMembers + static_cast<int32_t>(at - ranks.begin()) % kMostMembers;
    }
    return pair;
  }

  const std::vector<std::vector<int32_t>> ranks_;
  std::map<std::pair<uint32_t, int32_t>, int32_t> most_;  // rows that one member has in a step
  std::map<Key, InStep> in_step_;
  std::map<Key, int32_t> met_;
};

size_t EarlyOf(const MatchedInstance& instance) {
  return instance.members[0].start_ns <= instance.members[1].start_ns ? 0 : 1;
}

bool EarlyWaits(const MatchedInstance& instance) {
  const size_t early = EarlyOf(instance);
  return instance.members[early].awaits == instance.members[1 - early].rank_index;
}

}  // namespace

void AddPairPlaces(const MatchResult& match, ReplayGraph& graph) {
  PairCounter pairs(match);
  graph.pair_places.reserve(match.instances.size());
  for (const MatchedInstance& instance : match.instances) graph.pair_places.push_back(pairs.Next(instance));
}

PairRoles::PairRoles(const MatchResult& match, const ReplayGraph& graph) : match_(match), graph_(graph) {
  for (size_t i = 0; i < match.instances.size(); ++i) {
    const MatchedInstance& instance = match.instances[i];
    const std::optional<Place> place = PlaceOf(i);
    if (!place || !instance.usable() || !IsOneWay(instance) || !EarlyWaits(instance)) continue;
    ++votes_[*place][EarlyOf(instance)];
  }
}

bool PairRoles::IsOneWay(const MatchedInstance& instance) {
  return !instance.all_pairs && instance.members.size() == kTwo && IsSendOrReceive(instance);
}

PairRole PairRoles::Of(size_t instance) const {
  const MatchedInstance& matched = match_.instances[instance];
  const bool told = matched.op != CollectiveOp::kSendRecv;
  if (const std::optional<size_t> receiver = told ? std::nullopt : ReceiverAtPlace(instance)) {
    return {.sender = 1 - *receiver, .receiver = *receiver};
  }
  const size_t early = EarlyOf(matched);
  const bool waits = EarlyWaits(matched);
  const size_t receiver = waits ? early : 1 - early;
  return {.sender = 1 - receiver, .receiver = receiver, .unsure = waits && !told};
}

std::optional<PairRoles::Place> PairRoles::PlaceOf(size_t instance) const {
  const ReplayPairPlace& place = graph_.pair_places[instance];
  const MatchedInstance& matched = match_.instances[instance];
  if (place.nth < 0 || matched.step == kNoStep) return std::nullopt;
  return Place(matched.communicator, place.pair, place.nth);
}

std::optional<size_t> PairRoles::ReceiverAtPlace(size_t instance) const {
  constexpr int64_t kTimesAsOften = 2;
  const std::optional<Place> place = PlaceOf(instance);
  const auto found = place ? votes_.find(*place) : votes_.end();
  if (found == votes_.end()) return std::nullopt;
  for (const size_t member : {0, 1}) {
    const int64_t other = std::max<int64_t>(1, found->second[1 - member]);
    if (found->second[member] >= kTimesAsOften * other) return member;
  }
  return std::nullopt;
}

}  // namespace lockstep
