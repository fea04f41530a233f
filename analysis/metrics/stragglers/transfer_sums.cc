#include "analysis/metrics/stragglers/transfer_sums.h"

#include <algorithm>

namespace lockstep {
namespace {

void FindMembers(const MatchedInstance& instance, std::vector<std::vector<int32_t>>& members) {
  if (members.size() <= instance.communicator) members.resize(instance.communicator + size_t{1});
  std::vector<int32_t>& ranks = members[instance.communicator];
  if (ranks.size() >= instance.members.size()) return;
  ranks.clear();
  for (const MatchedMember& member : instance.members) ranks.push_back(member.rank_index);
  std::sort(ranks.begin(), ranks.end());
}

}  // namespace

void TransferSums::Add(const Chapter& chapter, const ArrivalGraph& graph, UnitNumbers& numbers) {
  // One communicator after the other, each in order of time, whatever connects its ranks.
  std::vector<uint32_t> order = graph.order;
  std::sort(order.begin(), order.end());
  for (const uint32_t index : order) {
    const MatchedInstance& instance = chapter.match.instances[index];
    if (!chapter.Owns(instance)) continue;
    FindMembers(instance, members);
    const int64_t unit = numbers.NumberOf(instance);
    if (unit < 0 || instance.transfer_ns < 0 || !instance.all_pairs) continue;
    std::vector<TransferSum>& units = sums[{instance.communicator, instance.op, instance.bytes}];
    if (units.size() <= static_cast<size_t>(unit)) units.resize(static_cast<size_t>(unit) + 1);
    units[static_cast<size_t>(unit)].ns += static_cast<double>(instance.transfer_ns);
    units[static_cast<size_t>(unit)].spread_ns += static_cast<double>(instance.spread_ns);
    ++units[static_cast<size_t>(unit)].count;
    deviations_ns[instance.communicator] += static_cast<double>(std::max<int64_t>(0, instance.uncertainty_ns)) / 1.96;
    ++instances[instance.communicator];
  }
}

}  // namespace lockstep
