#include "analysis/compare/statistics/resolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "analysis/stats/student_t.h"
#include "bench/accuracy/random_steps.h"

namespace lockstep::compare {
namespace {

std::vector<RunEstimate> RunsWithNoise(std::mt19937_64& random, size_t runs, double change, double run_sd,
                                       size_t steps) {
  std::vector<RunEstimate> side;
  for (size_t i = 0; i < runs; ++i) {
    const double level = 250e6 * (1 + change) * std::exp(run_sd * Normal(random));
    side.push_back(EstimateRun(RandomSteps(random, {.steps = steps}, level), Scale::kLog));
  }
  return side;
}

Comparison OfRepeats(double spread, size_t runs) {
  Comparison comparison;
  comparison.verdict = Verdict::kUnclear;
  comparison.base_runs = comparison.fresh_runs = runs;
  comparison.floor = {
      .source = FloorSource::kRepeats, .spread = spread, .degrees = 2.0 * static_cast<double>(runs) - 2};
  comparison.resolution = 1;
  return comparison;
}

TEST(MoreRepeatsToResolve, AsManyRepeatsFindTheChangeInFourOfFiveCases) {
  const auto more = MoreRepeatsToResolve(OfRepeats(0.005, 2), std::log1p(0.01));
  ASSERT_TRUE(more.has_value());
  std::mt19937_64 random(1);
  const size_t repeats = 2 + *more;
  int found = 0;
  constexpr int kTrials = 500;
  for (int i = 0; i < kTrials; ++i) {
    const auto base = RunsWithNoise(random, repeats, 0, 0.005, 50);
    const auto fresh = RunsWithNoise(random, repeats, 0.01, 0.005, 50);
    const Interval interval = CompareSides(base, fresh, {}, {}).interval;
    found += interval.low > 0 ? 1 : 0;
  }
  EXPECT_GT(found, kTrials * 0.74);
  EXPECT_LT(found, kTrials * 0.90);
}

TEST(MoreRepeatsToResolve, FewerAreNeededForALargerChange) {
  size_t last = 1'000;
  for (const double share : {0.005, 0.01, 0.02, 0.04}) {
    const auto more = MoreRepeatsToResolve(OfRepeats(0.01, 2), std::log1p(share));
    ASSERT_TRUE(more.has_value());
    EXPECT_LT(*more, last);
    last = *more;
  }
}

TEST(MoreRepeatsToResolve, NoneIsNeededForWhatIsResolved) {
  Comparison comparison = OfRepeats(0.01, 3);
  comparison.resolution = 0.009;
  EXPECT_EQ(MoreRepeatsToResolve(comparison, 0.01), 0u);
  EXPECT_EQ(MoreStepsToResolve(comparison, 0.01), 0u);
}

TEST(MoreRepeatsToResolve, AbsurdSizesHaveNoPlan) {
  const Comparison comparison = OfRepeats(0.01, 3);
  for (const double size : {0.0, -1.0, std::nan(""), HUGE_VAL, 1e-9}) {
    EXPECT_EQ(MoreRepeatsToResolve(comparison, size), std::nullopt) << size;
    EXPECT_EQ(MoreStepsToResolve(comparison, size), std::nullopt) << size;
  }
  EXPECT_EQ(MoreRepeatsToResolve(Comparison(), 0.01), std::nullopt);
}

TEST(MoreStepsToResolve, AsManyStepsFindTheChangeInFourOfFiveCases) {
  std::mt19937_64 random(2);
  int found = 0;
  constexpr int kTrials = 400;
  for (int i = 0; i < kTrials; ++i) {
    const double size = std::log1p(0.004);
    const auto base = RunsWithNoise(random, 1, 0, 0, 60);
    const auto fresh = RunsWithNoise(random, 1, 0.004, 0, 60);
    const Comparison now = CompareSides(base, fresh, {}, {.with_floor = false});
    if (now.drift != 0) {
      EXPECT_FALSE(MoreStepsToResolve(now, size).has_value());
      ++found;
      continue;
    }
    const auto more = MoreStepsToResolve(now, size);
    ASSERT_TRUE(more.has_value());
    const auto longer_base = RunsWithNoise(random, 1, 0, 0, 60 + *more);
    const auto longer_fresh = RunsWithNoise(random, 1, 0.004, 0, 60 + *more);
    const Comparison then = CompareSides(longer_base, longer_fresh, {}, {.with_floor = false});
    found += std::abs(then.difference) > QuantileOfT(0.975, then.degrees) * then.error ? 1 : 0;
  }
  EXPECT_GT(found, kTrials * 0.70);
  EXPECT_LT(found, kTrials * 0.92);
}

TEST(MoreStepsToResolve, StepsCannotBeatTheNoiseBetweenRuns) {
  std::mt19937_64 random(3);
  const auto base = RunsWithNoise(random, 1, 0, 0, 100);
  const auto fresh = RunsWithNoise(random, 1, 0, 0, 100);
  const Comparison comparison = CompareSides(base, fresh, {}, {});
  EXPECT_EQ(MoreStepsToResolve(comparison, std::log1p(0.01)), std::nullopt);
  EXPECT_GT(MoreRepeatsToResolve(comparison, std::log1p(0.01)).value_or(0), 2u);
}

}  // namespace
}  // namespace lockstep::compare
