#include "analysis/compare/statistics/long_run_variance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "bench/accuracy/random_steps.h"

namespace lockstep::compare {
namespace {

TEST(LongRunVariance, IsThatOfAnAr1Series) {
  std::mt19937_64 random(1);
  for (const double rho : {0.0, 0.5, 0.9}) {
    double sum = 0;
    constexpr int kSeries = 40;
    for (int i = 0; i < kSeries; ++i) {
      const LongRunVariance result = LongRunVarianceOf(Ar1(random, 4000, rho, 2));
      sum += result.variance * result.tau;
    }
    EXPECT_NEAR(sum / kSeries / (4 * (1 + rho) / (1 - rho)), 1, 0.12) << rho;
  }
}

TEST(LongRunVariance, PredictsTheScatterOfTheMean) {
  std::mt19937_64 random(2);
  double squares = 0;
  double predicted = 0;
  constexpr int kSeries = 600;
  for (int i = 0; i < kSeries; ++i) {
    const std::vector<double> values = Ar1(random, 500, 0.8, 1);
    double mean = 0;
    for (const double value : values) mean += value / 500;
    squares += mean * mean;
    const LongRunVariance result = LongRunVarianceOf(values);
    predicted += result.variance / result.effective;
  }
  EXPECT_NEAR(predicted / squares, 1, 0.15);
}

TEST(LongRunVariance, ALongSeriesCostsNoMoreThanItsBlocks) {
  std::mt19937_64 random(3);
  // A random walk correlates over its whole length: without blocks this would be 10^11 multiplications.
  std::vector<double> walk(1'000'000);
  double state = 0;
  for (double& value : walk) value = state += Normal(random);
  EXPECT_LT(LongRunVarianceOf(walk).effective, 20);
  // Blocks do not lose short correlations.
  const LongRunVariance blocks = LongRunVarianceOf(Ar1(random, 200'000, 0.9, 1));
  EXPECT_NEAR(blocks.tau, 19, 2);
}

TEST(LongRunVariance, AStepIsWorthOneStepAtMost) {
  std::vector<double> alternating;
  for (int i = 0; i < 100; ++i) alternating.push_back(i % 2 == 0 ? 1 : -1);
  EXPECT_EQ(LongRunVarianceOf(alternating).tau, 1);
  EXPECT_EQ(LongRunVarianceOf(alternating).effective, 100);
}

TEST(LongRunVariance, OfNoSpreadIsNothing) {
  EXPECT_EQ(LongRunVarianceOf({}).effective, 0);
  EXPECT_EQ(LongRunVarianceOf(std::vector<double>{3}).variance, 0);
  EXPECT_EQ(LongRunVarianceOf(std::vector<double>(50, 3.0)).variance, 0);
  EXPECT_EQ(LongRunVarianceOf(std::vector<double>(50, 3.0)).effective, 50);
}

}  // namespace
}  // namespace lockstep::compare
