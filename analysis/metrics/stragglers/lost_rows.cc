#include "analysis/metrics/stragglers/lost_rows.h"

#include <algorithm>
#include <cstddef>

#include "analysis/metrics/match/communicator_ranks.h"

namespace lockstep {
namespace {

bool Tells(const MatchedInstance& instance, size_t ranks) {
  const bool of_two = ranks == 2 && instance.members.size() == 1;
  return instance.members.size() < ranks && (of_two || (instance.lacking && instance.usable()));
}

}  // namespace

LostRows::LostRows(const MatchResult& match) : ends_(match.arrivals.size()) {
  const std::vector<std::vector<int32_t>> ranks_of = RanksOfCommunicators(match);
  for (const MatchedInstance& instance : match.instances) {
    const std::vector<int32_t>& ranks = ranks_of[instance.communicator];
    if (!Tells(instance, ranks.size())) continue;
    int64_t end_ns = INT64_MIN;
    for (const MatchedMember& m : instance.members) end_ns = std::max(end_ns, m.end_ns);
    for (const int32_t rank : ranks) {
      const bool there = std::any_of(instance.members.begin(), instance.members.end(),
                                     [rank](const MatchedMember& m) { return m.rank_index == rank; });
      if (!there) ends_[static_cast<size_t>(rank)].push_back(end_ns);
    }
  }
  for (std::vector<int64_t>& ends : ends_) std::sort(ends.begin(), ends.end());
}

bool LostRows::EndsWithin(int32_t rank_index, int64_t from_ns, int64_t to_ns) const {
  const std::vector<int64_t>& ends = ends_[static_cast<size_t>(rank_index)];
  const auto after = std::upper_bound(ends.begin(), ends.end(), from_ns);
  return after != ends.end() && *after <= to_ns;
}

}  // namespace lockstep
