// The only way from a source's LocalTime to the common axis, with its uncertainty.
//
// In this version: one constant correction per clock domain is not estimated yet; devices of one domain are comparable
// up to the measured in-domain uncertainty of the pair, different domains are not comparable at all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/base/time.h"

namespace lockstep {

struct DomainId {
  int32_t value = 0;
  friend constexpr auto operator<=>(DomainId, DomainId) = default;
};

struct Aligned {
  AlignedTime time;
  Duration uncertainty;  // of the time itself against the component's reference
};

class ClockModel {
 public:
  // Uncertainty of comparing any two ranks of one domain without enough shared instances (definitions: 30 us).
  static constexpr int64_t kDefaultPairUncertaintyNs = 30'000;

  void SetDomain(int32_t rank_index, DomainId domain);
  // Half-width U of the 95 % interval of a start difference of the two ranks, measured from `instances` matched
  // instances.
  void SetPair(int32_t rank_a, int32_t rank_b, int64_t uncertainty_ns, int64_t instances);

  [[nodiscard]] Aligned Align(DomainId domain, LocalTime time) const;
  [[nodiscard]] DomainId DomainOf(int32_t rank_index) const;
  // Null when the two ranks lie in components that cannot be compared.
  [[nodiscard]] std::optional<Duration> PairUncertainty(int32_t rank_a, int32_t rank_b) const;

 private:
  std::vector<DomainId> domains_;
  std::map<std::pair<int32_t, int32_t>, int64_t> pairs_;
};

}  // namespace lockstep
