// Shares of blame in exact integers: a distribution over origins whose weights sum to kWeightOne. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/metrics/arrivals/lateness.h"
#include "analysis/stats/sketch.h"

namespace lockstep {

inline constexpr int64_t kWeightOne = int64_t{1} << 40;

// Who or what is to blame; the default is what was never told.
struct Origin {
  int32_t rank_index = -1;
  int32_t communicator = -1;
  LatenessPart part = LatenessPart::kRest;
  friend auto operator<=>(const Origin&, const Origin&) = default;
  template <typename Hash>
  friend Hash AbslHashValue(Hash hash, const Origin& origin) {
    return Hash::combine(std::move(hash), origin.rank_index, origin.communicator, origin.part);
  }
};

struct Weight {
  Origin origin;
  int64_t weight = 0;
};
using Weights = std::vector<Weight>;

// Collects shares of any scale and normalises them.
class WeightSum {
 public:
  void Add(const Origin& origin, int128 share) {
    if (share > 0) shares_.emplace_back(origin, share * kWeightOne);
  }
  // The part of `share` that a distribution gives to this weight.
  void AddScaled(const Weight& weight, int128 share) {
    if (share > 0) shares_.emplace_back(weight.origin, share * weight.weight);
  }
  // The `limit` largest (ties: lowest origin), the others as never told; they sum to kWeightOne. Empty if nothing was
  // added.
  [[nodiscard]] Weights Take(size_t limit);

 private:
  std::vector<std::pair<Origin, int128>> shares_;
};

// Every value divided by kWeightOne, so rounded by largest remainder that the results sum to the rounded-down sum of
// all.
[[nodiscard]] std::vector<int64_t> RoundToSum(const std::vector<int128>& values);

}  // namespace lockstep
