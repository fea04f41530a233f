#include "analysis/metrics/match/communicator_ranks.h"

#include <algorithm>

namespace lockstep {

std::vector<std::vector<int32_t>> RanksOfCommunicators(const MatchResult& match) {
  std::vector<std::vector<int32_t>> out(match.communicators.size());
  for (const MatchedInstance& instance : match.instances) {
    std::vector<int32_t>& ranks = out[instance.communicator];
    for (const MatchedMember& m : instance.members) {
      const auto at = std::lower_bound(ranks.begin(), ranks.end(), m.rank_index);
      if (at == ranks.end() || *at != m.rank_index) ranks.insert(at, m.rank_index);
    }
  }
  return out;
}

}  // namespace lockstep
