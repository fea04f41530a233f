#include "analysis/metrics/summary/lost_collectives.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep {
namespace {

using Instances = std::vector<const MatchedInstance*>;

bool Joins(const MatchedInstance& instance, int32_t rank_index) {
  return std::any_of(instance.members.begin(), instance.members.end(),
                     [&](const MatchedMember& m) { return m.rank_index == rank_index; });
}

int64_t FirstArrival(const MatchedInstance& instance) {
  int64_t first = INT64_MAX;
  for (const MatchedMember& m : instance.members) first = std::min(first, m.start_ns);
  return first;
}

// Adds what the rank lacks of one communicator.
void Count(const Instances& instances, int32_t rank_index, LostCollectives& out) {
  const auto joined = [&](const MatchedInstance* instance) { return Joins(*instance, rank_index); };
  const auto first = std::find_if(instances.begin(), instances.end(), joined);
  const auto end = std::find_if(instances.rbegin(), instances.rend(), joined).base();
  for (auto it = first; it < end; ++it) {
    ++out.expected;
    if (joined(*it)) continue;
    const int64_t at = FirstArrival(**it);
    out.first_ns = out.lost == 0 ? at : std::min(out.first_ns, at);
    ++out.lost;
  }
}

double Share(const LostCollectives& it) { return static_cast<double>(it.lost) / static_cast<double>(it.expected); }

}  // namespace

std::vector<LostCollectives> FindLostCollectives(const RankResolution& ranks, const MatchResult& match) {
  std::map<int32_t, int32_t> index_of;
  for (size_t i = 0; i < ranks.ranks.size(); ++i) index_of[ranks.ranks[i].rank] = static_cast<int32_t>(i);
  std::vector<Instances> of_communicator(match.communicators.size());
  for (const MatchedInstance& instance : match.instances) {
    if (instance.communicator >= of_communicator.size()) continue;
    if (instance.matched() && instance.confidence >= 0.99) of_communicator[instance.communicator].push_back(&instance);
  }
  std::map<int32_t, LostCollectives> by_rank;
  for (size_t c = 0; c < of_communicator.size(); ++c) {
    const Instances& instances = of_communicator[c];
    if (std::all_of(instances.begin(), instances.end(), [](const auto* it) { return it->complete; })) continue;
    for (const int32_t rank : match.communicators[c].members) {
      const auto index = index_of.find(rank);
      if (index != index_of.end()) Count(instances, index->second, by_rank[index->second]);
    }
  }
  std::vector<LostCollectives> out;
  for (auto& [rank_index, lost] : by_rank) {
    lost.rank_index = rank_index;
    if (lost.lost > 0) out.push_back(lost);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const LostCollectives& a, const LostCollectives& b) { return Share(a) > Share(b); });
  return out;
}

}  // namespace lockstep
