#include "analysis/stats/robust_deviation.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <random>
#include <vector>

namespace lockstep {
namespace {

std::vector<double> NormalNoise() {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0, 1);
  std::vector<double> values;
  for (int i = 0; i < 20'000; ++i) values.push_back(noise(random));
  return values;
}

TEST(RobustDeviation, OfNormalNoiseIsItsStandardDeviation) {
  std::vector<double> values = NormalNoise();
  EXPECT_NEAR(RobustDeviation(values), 1, 0.03);
  for (size_t i = 0; i < values.size(); i += 10) values[i] += 1'000;
  EXPECT_LT(RobustDeviation(values), 1.3);
  EXPECT_EQ(RobustDeviation({}), 0);
}

TEST(DeviationOfMost, IsThatOfTheNoiseWhereMostValuesAreNone) {
  std::vector<double> values = NormalNoise();
  EXPECT_NEAR(DeviationOfMost(values), 1, 0.05);
  for (size_t i = 0; i < values.size(); ++i) {  // a third above, a third below
    if (i % 3 == 0) values[i] += 1'000;
    if (i % 3 == 1) values[i] -= 1'000;
  }
  EXPECT_LT(DeviationOfMost(values), 5);
  EXPECT_EQ(DeviationOfMost({}), 0);
  EXPECT_EQ(DeviationOfMost({1, 2}), 0);
}

// Two that both stall in half of the steps: nobody, either, or both, which last differently.
TEST(DeviationOfMost, IsThatOfTheNoiseWhereTheMedianIsNone) {
  std::vector<double> values = NormalNoise();
  for (size_t i = 0; i < values.size(); ++i) values[i] += std::array{0, 0, 0, 870, 870, -680, -680, 190}[i % 8];
  EXPECT_LT(DeviationOfMost(values), 8);
}

TEST(DeviationOfMost, OfFewValuesIsAboutTheirStandardDeviation) {
  std::mt19937 random(4);
  std::normal_distribution<double> noise(0, 1);
  for (const size_t count : {8, 20, 60, 300}) {
    double sum = 0;
    for (int trial = 0; trial < 400; ++trial) {
      std::vector<double> values;
      for (size_t i = 0; i < count; ++i) values.push_back(noise(random));
      sum += DeviationOfMost(values) / 400;
    }
    EXPECT_NEAR(sum, 1, 0.25) << count;
  }
}

TEST(LowLevel, IsThatOfTheNoiseWhereMostValuesLieFarAbove) {
  std::vector<double> values = NormalNoise();
  EXPECT_NEAR(LowLevelOf(values).level, -0.674, 0.03);
  EXPECT_NEAR(LowLevelOf(values).deviation, 1, 0.05);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % 3 != 0) values[i] += 1'000;
  }
  EXPECT_LT(LowLevelOf(values).level, 2);
  EXPECT_LT(LowLevelOf(values).deviation, 8);
  EXPECT_EQ(LowLevelOf({}).deviation, 0);
}

}  // namespace
}  // namespace lockstep
