#include "analysis/compare/kernels/ranges_of_both.h"

namespace lockstep::compare {

RangesOfBoth::RangesOfBoth(const MatchState& state) : state_(state) {
  std::unordered_set<std::string_view> of_before;
  for (const KernelIdentity& identity : state.before.identities) of_before.insert(identity.range);
  for (const KernelIdentity& identity : state.after.identities) {
    if (!identity.range.empty() && of_before.contains(identity.range)) ranges_.insert(identity.range);
  }
}

bool RangesOfBoth::Differ(size_t b, size_t a) const {
  const std::string& before = state_.before.identities[b].range;
  const std::string& after = state_.after.identities[a].range;
  return before != after && ranges_.contains(before) && ranges_.contains(after);
}

}  // namespace lockstep::compare
