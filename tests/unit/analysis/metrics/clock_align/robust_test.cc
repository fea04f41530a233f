#include "analysis/metrics/clock_align/robust.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

// A slow drift with noise that looks like none: +-1 us in a fixed irregular pattern.
std::vector<Sample> Drifting(size_t n, double slope, double jump_at, double jump) {
  std::vector<Sample> out;
  for (size_t i = 0; i < n; ++i) {
    const auto t = static_cast<double>(i) * 1e6;
    const double noise = 1'000 * std::sin(static_cast<double>(i * i % 97));
    out.push_back({t, slope * t + noise + (t >= jump_at ? jump : 0)});
  }
  return out;
}

constexpr JumpRule kRule{.min_size = 20'000, .min_sigmas = 8, .min_samples = 8};

TEST(Robust, MedianOfAnEvenCountIsTheMeanOfTheMiddle) {
  EXPECT_DOUBLE_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(Median({5, 1, 3}), 3);
  EXPECT_DOUBLE_EQ(Median({}), 0);
}

TEST(Robust, FarResidualsWeighNothing) {
  EXPECT_DOUBLE_EQ(HuberWeight(1, 1), 1);
  EXPECT_DOUBLE_EQ(HuberWeight(-3, 1), 0.5);
  EXPECT_DOUBLE_EQ(HuberWeight(9, 1), 0);
}

TEST(FindJumps, AJumpIsFoundWhereItIs) {
  for (size_t n : {40u, 400u, 4'000u}) {
    const double at = static_cast<double>(n * 2 / 3) * 1e6 - 5e5;
    const auto jumps = FindJumps(Drifting(n, 3e-5, at, -80'000), kRule);
    ASSERT_EQ(jumps.size(), 1u) << n;
    EXPECT_NEAR(jumps[0].t, at, 1e6) << n;
    EXPECT_NEAR(jumps[0].size, -80'000, 3'000) << n;
  }
}

TEST(FindJumps, DriftAloneIsNoJump) {
  for (double slope : {0.0, 1e-5, -6e-5}) EXPECT_TRUE(FindJumps(Drifting(2'000, slope, INFINITY, 0), kRule).empty());
}

TEST(FindJumps, SmallJumpsAreLeftAlone) { EXPECT_TRUE(FindJumps(Drifting(400, 1e-5, 2e8, 15'000), kRule).empty()); }

TEST(FindJumps, SingleWrongSamplesAreNoJump) {
  auto series = Drifting(400, 1e-5, INFINITY, 0);
  for (size_t i = 5; i < series.size(); i += 50) series[i].y += 5e6;
  EXPECT_TRUE(FindJumps(series, kRule).empty());
}

TEST(FindJumps, TwoJumpsAreToldApart) {
  auto series = Drifting(900, 1e-5, 3e8, 100'000);
  for (Sample& s : series) s.y += s.t >= 6e8 ? -250'000 : 0;
  const auto jumps = FindJumps(series, kRule);
  ASSERT_EQ(jumps.size(), 2u);
  EXPECT_NEAR(jumps[0].size, 100'000, 3'000);
  EXPECT_NEAR(jumps[1].size, -250'000, 3'000);
}

}  // namespace
}  // namespace lockstep
