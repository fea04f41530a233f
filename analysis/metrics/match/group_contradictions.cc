#include "analysis/metrics/match/group_contradictions.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace lockstep {
namespace {

using Members = std::vector<int32_t>;
using GroupKey = std::tuple<uint64_t, std::string, std::string>;  // hash; name and description where there is none

// What one rank says of a group.
struct Claim {
  Members members;  // empty where only the size is told
  int32_t size = -1;
  friend auto operator<=>(const Claim&, const Claim&) = default;
};

using Votes = std::map<Claim, std::set<int32_t>>;  // claim -> global ranks that make it

std::map<GroupKey, Votes> Collect(const RunData& run, const RankResolution& ranks) {
  std::map<GroupKey, Votes> out;
  for (const ResolvedRank& rank : ranks.ranks) {
    for (const LocalCommunicator& c : run.sources[rank.source].communicators) {
      if (!c.known || (c.comm_hash == 0 && (c.group_name.empty() || c.members.empty()))) continue;
      const int32_t size = c.members.empty() ? c.size : static_cast<int32_t>(c.members.size());
      if (size <= 0) continue;
      const GroupKey key = c.comm_hash != 0 ? GroupKey(c.comm_hash, "", "") : GroupKey(0, c.group_name, c.group_desc);
      out[key][{c.members, size}].insert(rank.rank);
    }
  }
  return out;
}

bool Counts(const Claim& claim, int32_t rank) {
  return claim.members.empty() || std::binary_search(claim.members.begin(), claim.members.end(), rank);
}

bool AnyCounted(const Claim& claim, const std::set<int32_t>& ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [&](int32_t r) { return Counts(claim, r); });
}

// The claim against which a rank stands: the most voted one of those that count it and whose voters it counts.
const Votes::value_type* Against(const Votes& votes, const Claim& own, int32_t rank) {
  const Votes::value_type* most = nullptr;
  for (const auto& vote : votes) {
    const bool meets = vote.first != own && Counts(vote.first, rank) && AnyCounted(own, vote.second);
    // A rank may be of two groups of one name.
    if (!meets || vote.second.count(rank) > 0) continue;
    if (most == nullptr || vote.second.size() > most->second.size()) most = &vote;
  }
  return most;
}

}  // namespace

std::vector<GroupContradiction> FindGroupContradictions(const RunData& run, const RankResolution& ranks) {
  std::vector<GroupContradiction> out;
  for (const auto& [key, votes] : Collect(run, ranks)) {
    for (const auto& [claim, voters] : votes) {
      for (const int32_t rank : voters) {
        const Votes::value_type* against = Against(votes, claim, rank);
        if (against == nullptr || against->second.size() < voters.size()) continue;
        out.push_back({std::get<1>(key), rank, claim.size, against->first.size,
                       static_cast<int64_t>(against->second.size()), against->second.size() == voters.size()});
      }
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const GroupContradiction& a, const GroupContradiction& b) {
    return std::tie(a.group, a.rank) < std::tie(b.group, b.rank);
  });
  return out;
}

}  // namespace lockstep
