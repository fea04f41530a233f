#include "analysis/compare/statistics/change_points.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "bench/accuracy/random_steps.h"

namespace lockstep::compare {
namespace {

std::vector<double> NoisyHistory(std::mt19937_64& random, size_t runs) {
  std::vector<double> levels;
  for (size_t i = 0; i < runs; ++i) levels.push_back(100 + Normal(random));
  return levels;
}

TEST(ChangePoints, OneChangeIsFoundAtTheRightRun) {
  std::mt19937_64 random(1);
  int right = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const size_t at = 5 + random() % 31;
    std::vector<double> levels = NoisyHistory(random, 40);
    for (size_t run = at; run < levels.size(); ++run) levels[run] += 6;
    const std::vector<ChangePoint> points = ChangePointsOf(levels);
    if (points.size() != 1 || points[0].first != at) continue;
    ++right;
    EXPECT_NEAR(points[0].after - points[0].before, 6, 2);
    EXPECT_LT(points[0].p, 1e-4);
  }
  EXPECT_GE(right, 190);
}

TEST(ChangePoints, AHistoryWithoutAChangeHasNone) {
  std::mt19937_64 random(2);
  for (const size_t runs : {10, 40, 120}) {
    int wrong = 0;
    for (int trial = 0; trial < 200; ++trial) wrong += ChangePointsOf(NoisyHistory(random, runs)).empty() ? 0 : 1;
    EXPECT_LE(wrong, 10) << runs;
  }
}

TEST(ChangePoints, ARegressionThatWasMendedIsTwoChanges) {
  std::mt19937_64 random(3);
  int right = 0;
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<double> levels = NoisyHistory(random, 40);
    for (size_t run = 15; run < 23; ++run) levels[run] += 6;
    const std::vector<ChangePoint> points = ChangePointsOf(levels);
    right += points.size() == 2 && points[0].first == 15 && points[1].first == 23 ? 1 : 0;
  }
  EXPECT_GE(right, 80);
}

TEST(ChangePoints, OneOddRunIsNoChange) {
  std::mt19937_64 random(4);
  for (const size_t at : {0, 20, 39}) {
    std::vector<double> levels = NoisyHistory(random, 40);
    levels[at] += 50;
    EXPECT_TRUE(ChangePointsOf(levels).empty()) << at;
  }
}

TEST(ChangePoints, AFactorAndAShiftMoveNoChange) {
  std::mt19937_64 random(5);
  std::vector<double> levels = NoisyHistory(random, 30);
  for (size_t run = 12; run < levels.size(); ++run) levels[run] += 5;
  const std::vector<ChangePoint> before = ChangePointsOf(levels);
  ASSERT_EQ(before.size(), 1u);
  for (double& level : levels) level = 1e6 - 3 * level;
  const std::vector<ChangePoint> after = ChangePointsOf(levels);
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].first, before[0].first);
  EXPECT_LT(after[0].after, after[0].before);
}

TEST(ChangePoints, ConstantShortAndAbsurdSeriesHaveNone) {
  EXPECT_TRUE(ChangePointsOf({}).empty());
  EXPECT_TRUE(ChangePointsOf(std::vector<double>{1, 1, 1, 1, 9, 9, 9, 9, 9}).empty());
  EXPECT_TRUE(ChangePointsOf(std::vector<double>(37, 0.1)).empty());
  std::vector<double> levels(20, 1.0);
  levels[4] = std::nan("");
  EXPECT_TRUE(ChangePointsOf(levels).empty());
  levels[4] = 1e300;
  EXPECT_TRUE(ChangePointsOf(levels).empty());
}

TEST(ChangePoints, ALongSeriesIsThatOfItsLatestRuns) {
  std::vector<double> levels(2 * kMostRunsOfASeries, 1.0);
  for (size_t run = 1500; run < levels.size(); ++run) levels[run] = 2;
  const std::vector<ChangePoint> points = ChangePointsOf(levels);
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].first, 1500u);
}

}  // namespace
}  // namespace lockstep::compare
