#include "analysis/metrics/clock_align/network.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

constexpr double kSd = 1'000;

GroupClock Group(std::vector<int32_t> domains, const std::vector<double>& values, double sd = kSd) {
  GroupClock out;
  out.domains = std::move(domains);
  for (double v : values) {
    out.value.push_back({v});
    out.variance.push_back({sd * sd});
  }
  return out;
}

PairClock Pair(int32_t a, int32_t b, double value, double sd = kSd) { return {a, b, {value}, {sd * sd}, true}; }

TEST(Network, AChainAddsUpItsHops) {
  const NetworkClock clock = SolveNetwork({0, 1, 2}, 0, 1, {}, {Pair(0, 1, -5'000), Pair(1, 2, 2'000)});
  EXPECT_NEAR(clock.value[0][1], 5'000, 1e-3);
  EXPECT_NEAR(clock.value[0][2], 3'000, 1e-3);
}

TEST(Network, TheUncertaintyOfAChainGrowsWithItsHops) {
  const NetworkClock clock = SolveNetwork({0, 1, 2}, 0, 1, {}, {Pair(0, 1, 0), Pair(1, 2, 0)});
  EXPECT_NEAR(clock.Sigma(0, 0, 1), kSd, 1);
  EXPECT_NEAR(clock.Sigma(0, 1, 2), kSd, 1);
  EXPECT_NEAR(clock.Sigma(0, 0, 2), kSd * std::sqrt(2.0), 1);
}

TEST(Network, AGroupsOwnConstantDoesNotMatter) {
  const NetworkClock clock = SolveNetwork(
      {0, 1, 2}, 0, 1, {Group({0, 1, 2}, {100'000, 101'000, 99'000}), Group({1, 2}, {-7'000, -9'000})}, {});
  EXPECT_NEAR(clock.value[0][1], 1'000, 1e-3);
  EXPECT_NEAR(clock.value[0][2], -1'000, 1e-3);
}

TEST(Network, BetterMeasurementsCountMore) {
  const NetworkClock clock = SolveNetwork({0, 1}, 0, 1, {}, {Pair(0, 1, 0, 100), Pair(0, 1, -1'000, 1'000)});
  EXPECT_NEAR(clock.value[0][1], 1'000.0 / 101, 1);
}

TEST(Network, OneWildMeasurementIsOutvoted) {
  std::vector<PairClock> pairs;
  for (int i = 0; i < 6; ++i) pairs.push_back(Pair(0, 1, -5'000));
  pairs.push_back(Pair(0, 1, 900'000));
  const NetworkClock clock = SolveNetwork({0, 1}, 0, 1, {}, pairs);
  EXPECT_NEAR(clock.value[0][1], 5'000, 1'500);
  EXPECT_GT(clock.Sigma(0, 0, 1), kSd / std::sqrt(7.0)) << "disagreement widens what is stated";
}

TEST(Network, TheReferenceIsZeroWhicheverItIs) {
  const NetworkClock clock = SolveNetwork({3, 5, 9}, 5, 1, {Group({3, 5, 9}, {10, 20, 40})}, {});
  EXPECT_NEAR(clock.value[0][0], -10, 1e-6);
  EXPECT_EQ(clock.value[0][1], 0);
  EXPECT_NEAR(clock.value[0][2], 20, 1e-6);
}

}  // namespace
}  // namespace lockstep
