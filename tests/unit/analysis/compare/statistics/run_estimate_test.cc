#include "analysis/compare/statistics/run_estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "bench/accuracy/random_steps.h"

namespace lockstep::compare {
namespace {

std::vector<double> StepsOf(uint64_t seed, StepKind kind, size_t steps, double rho) {
  std::mt19937_64 random(seed);
  StepShape shape{.kind = kind, .steps = steps, .rho = rho};
  return RandomSteps(random, shape, 250e6);
}

TEST(EstimateRun, ThePlainLevelIsThePlainMeanToTheLastBit) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<double> values = StepsOf(seed, StepKind::kDriftShared, 500, 0.3);
    double sum = 0;
    for (const double value : values) sum += value;
    const RunEstimate run = EstimateRun(values, Scale::kLevel);
    EXPECT_TRUE(run.drifts);
    EXPECT_EQ(run.level, sum / 500);
  }
}

TEST(EstimateRun, PlainLevelsOfThePartsSumToThatOfTheWhole) {
  std::vector<double> whole = StepsOf(2, StepKind::kHeavyTailed, 300, 0.5);
  std::vector<double> part = StepsOf(3, StepKind::kWaits, 300, 0.5);
  std::vector<double> rest;
  for (size_t i = 0; i < whole.size(); ++i) rest.push_back(whole[i] - part[i]);
  EXPECT_DOUBLE_EQ(EstimateRun(part, Scale::kLevel).level + EstimateRun(rest, Scale::kLevel).level,
                   EstimateRun(whole, Scale::kLevel).level);
}

TEST(EstimateRun, RareOutliersMoveTheTypicalStepLittle) {
  std::vector<double> values = StepsOf(4, StepKind::kNormal, 400, 0);
  const RunEstimate before = EstimateRun(values, Scale::kLog);
  for (size_t i = 5; i < values.size(); i += 50) values[i] *= 10;
  const RunEstimate after = EstimateRun(values, Scale::kLog);
  EXPECT_NEAR(after.level, before.level, 0.001);
  EXPECT_NEAR(after.error / before.error, 1, 0.1);
  EXPECT_GT(EstimateRun(values, Scale::kLevel).level, 1.15 * std::exp(before.level));
}

TEST(EstimateRun, TheErrorIsTheScatterOfTheLevel) {
  for (const StepKind kind : {StepKind::kNormal, StepKind::kHeavyTailed, StepKind::kPauses}) {
    std::mt19937_64 random(5);
    const StepShape shape{.kind = kind, .steps = 400, .rho = 0.6};
    double squares = 0;
    double predicted = 0;
    double mean = 0;
    constexpr int kRuns = 800;
    std::vector<double> levels;
    for (int i = 0; i < kRuns; ++i) {
      const RunEstimate run = EstimateRun(RandomSteps(random, shape, 250e6), Scale::kLog);
      levels.push_back(run.level);
      mean += run.level / kRuns;
      predicted += run.error * run.error;
    }
    for (const double level : levels) squares += (level - mean) * (level - mean);
    EXPECT_NEAR(predicted / squares, 1, 0.2) << static_cast<int>(kind);
  }
}

TEST(EstimateRun, FindsADriftAndTakesItOutOfTheError) {
  const RunEstimate steady = EstimateRun(StepsOf(6, StepKind::kNormal, 300, 0.3), Scale::kLog);
  std::mt19937_64 random(6);
  const StepShape shape{.kind = StepKind::kDriftShared, .steps = 300, .rho = 0.3, .drift = 0.04};
  const RunEstimate drifting = EstimateRun(RandomSteps(random, shape, 250e6), Scale::kLog);
  EXPECT_FALSE(steady.drifts);
  EXPECT_TRUE(drifting.drifts);
  EXPECT_NEAR(drifting.drift, 0.04, 0.008);
  EXPECT_NEAR(drifting.level - steady.level, 0.02, 0.002);  // the level is that of the middle
  EXPECT_NEAR(drifting.error / steady.error, 1, 0.25);
}

TEST(EstimateRun, CallsOneSteadyRunInAHundredDrifting) {
  std::mt19937_64 random(7);
  int drifting = 0;
  constexpr int kRuns = 2000;
  for (int i = 0; i < kRuns; ++i) {
    const StepShape shape{.steps = 300, .rho = 0.5};
    drifting += EstimateRun(RandomSteps(random, shape, 250e6), Scale::kLog).drifts ? 1 : 0;
  }
  EXPECT_LT(drifting, kRuns * 0.02);
}

TEST(EstimateRun, LeavesOutAndCountsWhatHasNoPlaceOnTheScale) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {100, nan, infinity, -infinity, 0, -5, 1e300, 100};
  const RunEstimate log = EstimateRun(values, Scale::kLog);
  EXPECT_EQ(log.steps, 2u);
  EXPECT_EQ(log.unusable, 6u);
  EXPECT_DOUBLE_EQ(log.level, std::log(100));
  const RunEstimate level = EstimateRun(values, Scale::kLevel);
  EXPECT_EQ(level.steps, 4u);
  EXPECT_EQ(level.level, 195.0 / 4);
}

TEST(EstimateRun, OfNothingHasNoSteps) {
  EXPECT_EQ(EstimateRun({}, Scale::kLog), RunEstimate{.effective = 0});
  EXPECT_EQ(EstimateRun(std::vector<double>{0, 0}, Scale::kLog).steps, 0u);
  EXPECT_EQ(EstimateRun(std::vector<double>{7}, Scale::kLevel).level, 7);
}

TEST(EstimateRun, AFactorShiftsTheLogarithmAndScalesTheLevel) {
  std::vector<double> values = StepsOf(8, StepKind::kHeavyTailed, 200, 0.7);
  const RunEstimate log = EstimateRun(values, Scale::kLog);
  const RunEstimate level = EstimateRun(values, Scale::kLevel);
  for (double& value : values) value *= 8;
  const RunEstimate log_8 = EstimateRun(values, Scale::kLog);
  const RunEstimate level_8 = EstimateRun(values, Scale::kLevel);
  EXPECT_NEAR(log_8.level - log.level, std::log(8), 1e-12);
  EXPECT_NEAR(log_8.error, log.error, 1e-12);
  EXPECT_NEAR(log_8.effective, log.effective, 1e-6);
  EXPECT_DOUBLE_EQ(level_8.level, 8 * level.level);
  EXPECT_DOUBLE_EQ(level_8.error, 8 * level.error);
}

TEST(WarmUpSteps, FindsSlowStepsAtTheStart) {
  for (const size_t slow : {1, 3, 12, 40}) {
    std::vector<double> values = StepsOf(9, StepKind::kNormal, 200, 0);
    for (size_t i = 0; i < slow; ++i) values[i] *= 1.5;
    EXPECT_NEAR(static_cast<double>(WarmUpSteps(values)), static_cast<double>(slow), 1) << slow;
  }
}

TEST(WarmUpSteps, AFastBeginIsTheRunBeforeItGotWorse) {
  std::vector<double> values = StepsOf(12, StepKind::kNormal, 200, 0);
  for (size_t i = 0; i < 40; ++i) values[i] *= 0.6;
  EXPECT_EQ(WarmUpSteps(values), 0u);
}

TEST(WarmUpSteps, AreAtMostThreeTenthsOfARun) {
  std::vector<double> values = StepsOf(10, StepKind::kNormal, 200, 0);
  for (size_t i = 0; i < 95; ++i) values[i] *= 1.5;
  EXPECT_EQ(WarmUpSteps(values), 60u);
}

TEST(WarmUpSteps, ADriftIsNone) {
  std::mt19937_64 random(11);
  const StepShape shape{.kind = StepKind::kDriftShared, .steps = 200, .sd = 0.001, .drift = 0.05};
  EXPECT_EQ(WarmUpSteps(RandomSteps(random, shape, 250e6)), 0u);
}

TEST(WarmUpSteps, AreRareInARunWithoutAWarmUp) {
  std::mt19937_64 random(12);
  int found = 0;
  for (int i = 0; i < 500; ++i) {
    const StepShape shape{.kind = StepKind::kPauses, .steps = 100, .rho = 0.3};
    found += WarmUpSteps(RandomSteps(random, shape, 250e6)) > 2 ? 1 : 0;
  }
  EXPECT_LT(found, 25);
}

TEST(WarmUpSteps, OfShortAndAbsurdRunsAreNone) {
  EXPECT_EQ(WarmUpSteps({}), 0u);
  EXPECT_EQ(WarmUpSteps(std::vector<double>{9, 1, 1, 1, 1, 1}), 0u);
  std::vector<double> values(50, 1.0);
  values[3] = std::nan("");
  EXPECT_EQ(WarmUpSteps(values), 0u);
  EXPECT_EQ(WarmUpSteps(std::vector<double>(50, 1e308)), 0u);
}

}  // namespace
}  // namespace lockstep::compare
