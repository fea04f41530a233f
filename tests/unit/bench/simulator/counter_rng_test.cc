#include "bench/simulator/cluster/counter_rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace lockstep {
namespace {

TEST(CounterRng, DrawDependsOnEveryPartOfTheKey) {
  const CounterRng rng(7);
  const DrawKey key{.rank = 3, .step = 5, .op = 11, .purpose = Purpose::kCall};
  std::set<uint64_t> draws = {rng.Bits(key), CounterRng(8).Bits(key)};
  for (const DrawKey& other : {DrawKey{.rank = 4, .step = 5, .op = 11, .purpose = Purpose::kCall},
                               DrawKey{.rank = 3, .step = 6, .op = 11, .purpose = Purpose::kCall},
                               DrawKey{.rank = 3, .step = 5, .op = 12, .purpose = Purpose::kCall},
                               DrawKey{.rank = 3, .step = 5, .op = 11, .purpose = Purpose::kDispatch}}) {
    draws.insert(rng.Bits(other));
  }
  EXPECT_EQ(draws.size(), 6U);
}

TEST(CounterRng, DrawsAreTheSameOnEveryMachine) {
  // Fixed values: a change of the generator changes every simulated run and must be meant.
  const CounterRng rng(1);
  EXPECT_EQ(rng.Bits({.rank = 0, .step = 0, .op = 0, .purpose = Purpose::kDispatch}), UINT64_C(4585330820673184961));
  EXPECT_EQ(rng.UniformInt({.rank = 2, .step = 9, .op = 4, .purpose = Purpose::kCall}, 0, 999'999), 185'645);
}

TEST(CounterRng, NormalHasMeanZeroAndVarianceOne) {
  const CounterRng rng(42);
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 200'000;
  for (uint32_t i = 0; i < kDraws; ++i) {
    const double z = rng.Normal({.op = i, .purpose = Purpose::kKernelNoise});
    sum += z;
    squares += z * z;
  }
  EXPECT_NEAR(sum / kDraws, 0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
}

TEST(CounterRng, IntegersReachBothEndsAndNoFurther) {
  const CounterRng rng(42);
  std::set<int64_t> seen;
  for (uint32_t i = 0; i < 1000; ++i) seen.insert(rng.UniformInt({.op = i, .purpose = Purpose::kCall}, -2, 2));
  EXPECT_EQ(seen, (std::set<int64_t>{-2, -1, 0, 1, 2}));
}

TEST(CounterRng, ChanceStrikesAsOftenAsItSays) {
  const CounterRng rng(42);
  int hits = 0;
  for (uint32_t i = 0; i < 100'000; ++i) hits += rng.Chance({.op = i, .purpose = Purpose::kLateHost}, 0.02) ? 1 : 0;
  EXPECT_NEAR(hits, 2000, 5 * std::sqrt(2000));
}

}  // namespace
}  // namespace lockstep
