#include "analysis/metrics/stragglers/series_bootstrap.h"

#include <gtest/gtest.h>

#include <random>

namespace lockstep {
namespace {

TEST(BootstrapMean, OfAConstantSeriesHasNoWidth) {
  const auto [low, high] = BootstrapMean(std::vector<double>(20, 7.0), 3);
  EXPECT_DOUBLE_EQ(low, 7);
  EXPECT_DOUBLE_EQ(high, 7);
}

TEST(BootstrapMean, IsTheSameEveryTime) {
  const std::vector<double> series = {1, 5, 2, 8, 3, 9, 4, 1, 2, 2};
  EXPECT_EQ(BootstrapMean(series, 2), BootstrapMean(series, 2));
}

TEST(BootstrapMean, HoldsTheTrueMeanInAboutNineteenOfTwenty) {
  int held = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(10, 3);
    std::vector<double> series(60);
    for (double& value : series) value = normal(random);
    const auto [low, high] = BootstrapMean(series, 4);
    held += low <= 10 && 10 <= high ? 1 : 0;
  }
  EXPECT_GE(held, 264);
  EXPECT_LE(held, 297);
}

TEST(BootstrapMean, TakesAnyBlockAndAnyLength) {
  EXPECT_EQ(BootstrapMean({}, 3), (std::pair<double, double>{0, 0}));
  const auto [low, high] = BootstrapMean({4}, 0);
  EXPECT_DOUBLE_EQ(low, 4);
  EXPECT_DOUBLE_EQ(high, 4);
  EXPECT_LE(BootstrapMean({1, 2, 3}, 100).first, 3);
}

TEST(BlockLength, IsWhatOneIndependentValueSpansAtLeastTheCubeRoot) {
  EXPECT_EQ(BlockLength(64, 64), 4u);
  EXPECT_EQ(BlockLength(64, 4), 16u);
  EXPECT_EQ(BlockLength(64, 0), 64u);
}

}  // namespace
}  // namespace lockstep
