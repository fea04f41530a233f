#include "analysis/metrics/skew/sums_by_spread.h"

#include <cstdint>

#include "analysis/stats/bucket_index.h"
#include "analysis/stats/sketch.h"

namespace lockstep {

void WaitSums::Add(const WaitSums& other) {
  instances += other.instances;
  members += other.members;
  wait_ns += other.wait_ns;
  aligned_wait_ns += other.aligned_wait_ns;
  aligned_uncertainty_ns += other.aligned_uncertainty_ns;
}

void SumsBySpread::Add(int64_t spread_ns, const WaitSums& instance) {
  if (!buckets_.empty()) {
    AddToBucket(spread_ns, instance);
    return;
  }
  held_.emplace_back(spread_ns, instance);
  if (held_.size() <= kMostHeld) return;
  for (const auto& [spread, one] : held_) AddToBucket(spread, one);
  held_ = {};
}

void SumsBySpread::AddToBucket(int64_t spread_ns, const WaitSums& instance) {
  const int bucket = BucketIndex(spread_ns);
  if (buckets_.empty()) lowest_ = bucket;
  if (bucket < lowest_) {
    buckets_.insert(buckets_.begin(), static_cast<size_t>(lowest_ - bucket), WaitSums{});
    lowest_ = bucket;
  }
  const auto at = static_cast<size_t>(bucket - lowest_);
  if (at >= buckets_.size()) buckets_.resize(at + 1);
  buckets_[at].Add(instance);
}

WaitSums SumsBySpread::From(int64_t least_ns) const {
  WaitSums out;
  for (const auto& [spread_ns, instance] : held_) {
    if (spread_ns >= least_ns) out.Add(instance);
  }
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const auto bucket = static_cast<int16_t>(lowest_ + static_cast<int>(i));
    if (EstimateOf(bucket, 0, INT64_MAX).value >= least_ns) out.Add(buckets_[i]);
  }
  return out;
}

}  // namespace lockstep
