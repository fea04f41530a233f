// Sums of instances whose spread is at least so much: exact while they are few, within a bucket's width beyond.
#include "analysis/metrics/skew/sums_by_spread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

using Instances = std::vector<std::pair<int64_t, WaitSums>>;

Instances Some(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> spread(std::log(50'000), 1.5);
  Instances out;
  for (size_t i = 0; i < count; ++i) {
    const auto below = [&random](uint64_t limit) { return static_cast<int64_t>(random() % limit); };
    out.emplace_back(std::llround(spread(random)) + 1,
                     WaitSums{1, 2 + below(7), below(1'000'000), below(1'000'000), below(1'000)});
  }
  return out;
}

SumsBySpread Of(const Instances& instances) {
  SumsBySpread out;
  for (const auto& [spread_ns, one] : instances) out.Add(spread_ns, one);
  return out;
}

WaitSums Naive(const Instances& instances, double least_ns) {
  WaitSums out;
  for (const auto& [spread_ns, one] : instances) {
    if (static_cast<double>(spread_ns) >= least_ns) out.Add(one);
  }
  return out;
}

std::vector<int64_t> Fields(const WaitSums& sums) {
  return {sums.instances, sums.members, sums.wait_ns, sums.aligned_wait_ns, sums.aligned_uncertainty_ns};
}

TEST(SumsBySpread, OfFewInstancesAreExact) {
  const Instances instances = Some(SumsBySpread::kMostHeld, 1);
  const SumsBySpread sums = Of(instances);
  for (const auto& [spread_ns, one] : Some(300, 2)) {
    EXPECT_EQ(Fields(sums.From(spread_ns)), Fields(Naive(instances, static_cast<double>(spread_ns))));
  }
  for (size_t i = 0; i < instances.size(); i += 50) {
    const int64_t at = instances[i].first;
    EXPECT_EQ(Fields(sums.From(at)), Fields(Naive(instances, static_cast<double>(at)))) << "its own bound";
  }
}

TEST(SumsBySpread, OfManyInstancesAreThoseOfABoundWithinABucket) {
  const Instances instances = Some(10 * SumsBySpread::kMostHeld, 3);
  const SumsBySpread sums = Of(instances);
  EXPECT_EQ(Fields(sums.From(0)), Fields(Naive(instances, 0))) << "nothing is lost";
  constexpr double kBucket = 0.0055;  // from its middle to its end
  for (const int64_t least : {1'000, 7'000, 50'000, 123'456, 1'000'000, 100'000'000}) {
    const std::vector<int64_t> found = Fields(sums.From(least));
    const std::vector<int64_t> most = Fields(Naive(instances, static_cast<double>(least) * (1 - kBucket)));
    const std::vector<int64_t> fewest = Fields(Naive(instances, static_cast<double>(least) * (1 + kBucket)));
    for (size_t field = 0; field < found.size(); ++field) {
      EXPECT_LE(found[field], most[field]) << least;
      EXPECT_GE(found[field], fewest[field]) << least;
    }
  }
}

TEST(SumsBySpread, DoNotHangOnTheOrder) {
  for (const size_t count : {SumsBySpread::kMostHeld, SumsBySpread::kMostHeld + 1, 3 * SumsBySpread::kMostHeld}) {
    Instances instances = Some(count, 4);
    const SumsBySpread one = Of(instances);
    std::sort(instances.begin(), instances.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    const SumsBySpread other = Of(instances);
    for (const int64_t least : {0, 9'999, 50'000, 200'000}) {
      EXPECT_EQ(Fields(one.From(least)), Fields(other.From(least))) << count;
    }
  }
}

}  // namespace
}  // namespace lockstep
