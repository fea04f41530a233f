// Sums over instances whose spread is at least so much, where how much is known last. Each instance is held while they
// are few; beyond that their sums by the bucket of the spread (bucket_index.h), which is as wide as what a sketch says
// of a quantile then. So memory does not grow with the run. The order of adding makes no difference. Units: ns. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lockstep {

struct WaitSums {
  int64_t instances = 0;
  int64_t members = 0;
  int64_t wait_ns = 0;  // from durations
  int64_t aligned_wait_ns = 0;
  int64_t aligned_uncertainty_ns = 0;

  void Add(const WaitSums& other);
};

class SumsBySpread {
 public:
  static constexpr size_t kMostHeld = 1024;

  void Add(int64_t spread_ns, const WaitSums& instance);
  // Of spreads >= least_ns; a bucket stands where the middle of its values does.
  [[nodiscard]] WaitSums From(int64_t least_ns) const;

 private:
  void AddToBucket(int64_t spread_ns, const WaitSums& instance);

  std::vector<std::pair<int64_t, WaitSums>> held_;  // spread and sums of one instance
  std::vector<WaitSums> buckets_;                   // all instead, from the bucket `lowest_` on
  int lowest_ = 0;
};

}  // namespace lockstep
