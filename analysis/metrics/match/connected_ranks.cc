#include "analysis/metrics/match/connected_ranks.h"

#include "analysis/base/disjoint_sets.h"

namespace lockstep {
namespace {

// One of those that have all the members that are told of their communicator, and so connect all the same ranks.
bool HasAllMembers(const MatchedInstance& instance, const Communicator& communicator) {
  return instance.complete && instance.in_sequence && instance.members.size() == communicator.members.size();
}

}  // namespace

std::vector<size_t> ConnectedRanks(const MatchResult& match, size_t ranks) {
  DisjointSets connected(ranks);
  std::vector<bool> has_all(match.communicators.size());  // was seen
  for (const MatchedInstance& instance : match.instances) {
    if (!instance.usable()) continue;
    if (HasAllMembers(instance, match.communicators[instance.communicator])) {
      if (has_all[instance.communicator]) continue;
      has_all[instance.communicator] = true;
    }
    const auto first = static_cast<size_t>(instance.members.front().rank_index);
    for (const MatchedMember& m : instance.members) connected.Join(first, static_cast<size_t>(m.rank_index));
  }
  std::vector<size_t> out(ranks);
  for (size_t r = 0; r < ranks; ++r) out[r] = connected.Find(r);
  return out;
}

}  // namespace lockstep
