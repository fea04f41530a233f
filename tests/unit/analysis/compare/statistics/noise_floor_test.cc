#include "analysis/compare/statistics/noise_floor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "bench/accuracy/random_steps.h"

namespace lockstep::compare {
namespace {

std::vector<RunEstimate> RunsAt(const std::vector<double>& levels) {
  std::vector<RunEstimate> runs;
  for (const double level : levels) runs.push_back({.steps = 100, .level = level, .error = 0.001, .effective = 100});
  return runs;
}

std::vector<EarlierRun> EarlierAt(const std::vector<double>& levels, double error) {
  std::vector<EarlierRun> runs;
  for (const double level : levels) runs.push_back({.level = level, .error = error});
  return runs;
}

TEST(FloorOf, RepeatsComeFirstThenHistoryThenTheDefault) {
  const auto pair = RunsAt({1});
  const auto three = RunsAt({1, 1.01, 1.02});
  const auto history = EarlierAt({1, 1.1, 1.2, 1.3}, 0);
  EXPECT_EQ(FloorOf(three, three, history, Scale::kLog, 0).source, FloorSource::kRepeats);
  EXPECT_EQ(FloorOf(three, pair, history, Scale::kLog, 0).source, FloorSource::kRepeats);
  EXPECT_EQ(FloorOf(pair, pair, history, Scale::kLog, 0).source, FloorSource::kHistory);
  EXPECT_EQ(FloorOf(pair, pair, EarlierAt({1, 2, 3}, 0), Scale::kLog, 0).source, FloorSource::kDefault);
}

TEST(FloorOf, TheDefaultIsTwoPercentForAPair) {
  const auto pair = RunsAt({1});
  EXPECT_NEAR(FloorOf(pair, pair, {}, Scale::kLog, 0).of_a_pair, std::log1p(0.02), 1e-5);
  EXPECT_NEAR(FloorOf(pair, pair, {}, Scale::kLevel, 5000).of_a_pair, 100, 0.1);
  EXPECT_EQ(FloorOf(pair, pair, {}, Scale::kLevel, std::nan("")).of_a_pair, 0);
}

TEST(FloorOf, TheDefaultDoesNotHideTwoRunsThatDifferByMore) {
  const auto pair = RunsAt({1});
  EXPECT_EQ(FloorOf(RunsAt({1, 1.005}), pair, {}, Scale::kLog, 0).source, FloorSource::kDefault);
  const NoiseFloor wide = FloorOf(RunsAt({1, 1.1}), pair, {}, Scale::kLog, 0);
  EXPECT_EQ(wide.source, FloorSource::kRepeats);
  EXPECT_EQ(wide.degrees, 1);
}

TEST(FloorOf, RepeatsPoolTheSpreadOfBothSides) {
  // Squared deviations 2 and 8, two degrees of freedom each.
  const NoiseFloor floor = FloorOf(RunsAt({1, 2, 3}), RunsAt({10, 12, 14}), {}, Scale::kLog, 0);
  EXPECT_DOUBLE_EQ(floor.spread, std::sqrt(10.0 / 4));
  EXPECT_EQ(floor.degrees, 4);
}

TEST(FloorOf, HistoryDoesNotCountTheErrorWithinRunsTwice) {
  std::mt19937_64 random(1);
  double spread = 0;
  constexpr int kHistories = 300;
  for (int i = 0; i < kHistories; ++i) {
    std::vector<double> levels;
    for (int run = 0; run < 40; ++run) levels.push_back(0.005 * Normal(random) + 0.01 * Normal(random));
    spread += std::pow(FloorOf(RunsAt({1}), RunsAt({1}), EarlierAt(levels, 0.01), Scale::kLog, 0).spread, 2);
  }
  EXPECT_NEAR(std::sqrt(spread / kHistories), 0.005, 0.001);
}

TEST(FloorOf, DoesNotDependOnTheOrderOfRuns) {
  std::vector<double> levels = {1.1, 0.3, 7e-9, 5, 2.2, 1e-3};
  const NoiseFloor before = FloorOf(RunsAt(levels), RunsAt(levels), EarlierAt(levels, 0.1), Scale::kLog, 0);
  const NoiseFloor history = FloorOf(RunsAt({1}), RunsAt({1}), EarlierAt(levels, 0.1), Scale::kLog, 0);
  std::reverse(levels.begin(), levels.end());
  std::swap(levels[0], levels[2]);
  EXPECT_EQ(FloorOf(RunsAt(levels), RunsAt(levels), EarlierAt(levels, 0.1), Scale::kLog, 0).spread, before.spread);
  EXPECT_EQ(FloorOf(RunsAt({1}), RunsAt({1}), EarlierAt(levels, 0.1), Scale::kLog, 0).spread, history.spread);
}

TEST(FloorOf, EarlierRunsThatAreNoNumbersDoNotCount) {
  auto history = EarlierAt({1, 1.1, 1.2}, 0);
  history.push_back({.level = std::nan("")});
  history.push_back({.level = std::numeric_limits<double>::infinity()});
  EXPECT_EQ(FloorOf(RunsAt({1}), RunsAt({1}), history, Scale::kLog, 0).source, FloorSource::kDefault);
}

}  // namespace
}  // namespace lockstep::compare
