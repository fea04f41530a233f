#include "analysis/metrics/clock_model.h"

#include <algorithm>

#include "analysis/base/check.h"

namespace lockstep {

void ClockModel::SetDomain(int32_t rank_index, DomainId domain) {
  LOCKSTEP_CHECK(rank_index >= 0);
  const auto index = static_cast<size_t>(rank_index);
  if (domains_.size() <= index) domains_.resize(index + 1);
  domains_[index] = domain;
}

void ClockModel::SetPair(int32_t rank_a, int32_t rank_b, int64_t uncertainty_ns, int64_t instances) {
  constexpr int64_t kMinInstances = 3;
  pairs_[std::minmax(rank_a, rank_b)] = instances < kMinInstances ? kDefaultPairUncertaintyNs : uncertainty_ns;
}

Aligned ClockModel::Align(DomainId, LocalTime time) const { return {AlignedTime{time.ns}, Duration{0}}; }

DomainId ClockModel::DomainOf(int32_t rank_index) const {
  LOCKSTEP_CHECK(rank_index >= 0 && static_cast<size_t>(rank_index) < domains_.size());
  return domains_[static_cast<size_t>(rank_index)];
}

std::optional<Duration> ClockModel::PairUncertainty(int32_t rank_a, int32_t rank_b) const {
  if (DomainOf(rank_a) != DomainOf(rank_b)) return std::nullopt;
  if (rank_a == rank_b) return Duration{0};
  const auto at = pairs_.find(std::minmax(rank_a, rank_b));
  return Duration{at == pairs_.end() ? kDefaultPairUncertaintyNs : at->second};
}

}  // namespace lockstep
