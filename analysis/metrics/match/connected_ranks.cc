#include "analysis/metrics/match/connected_ranks.h"

#include "analysis/base/disjoint_sets.h"

namespace lockstep {

std::vector<size_t> ConnectedRanks(const MatchResult& match, size_t ranks) {
  DisjointSets connected(ranks);
  for (const MatchedInstance& instance : match.instances) {
    if (!instance.usable()) continue;
    const auto first = static_cast<size_t>(instance.members.front().rank_index);
    for (const MatchedMember& m : instance.members) connected.Join(first, static_cast<size_t>(m.rank_index));
  }
  std::vector<size_t> out(ranks);
  for (size_t r = 0; r < ranks; ++r) out[r] = connected.Find(r);
  return out;
}

}  // namespace lockstep
