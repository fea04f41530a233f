#include "analysis/compare/statistics/compare_sides.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "bench/accuracy/random_steps.h"

namespace lockstep::compare {
namespace {

std::vector<RunEstimate> RandomSide(std::mt19937_64& random, size_t runs, double change, size_t steps = 200,
                                    Scale scale = Scale::kLog) {
  std::vector<RunEstimate> side;
  for (size_t i = 0; i < runs; ++i) {
    const StepShape shape{.kind = kStepKinds[random() % std::size(kStepKinds)], .steps = steps, .rho = 0.4};
    const double level = 250e6 * (1 + change) * std::exp(0.005 * Normal(random));
    side.push_back(EstimateRun(RandomSteps(random, shape, level), scale));
  }
  return side;
}

Verdict MirrorOf(Verdict verdict) {
  if (verdict == Verdict::kSlower) return Verdict::kFaster;
  return verdict == Verdict::kFaster ? Verdict::kSlower : verdict;
}

TEST(CompareSides, SwappedSidesMirrorEverything) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    const auto base = RandomSide(random, 1 + random() % 3, 0);
    const auto fresh = RandomSide(random, 1 + random() % 3, Uniform(random, -0.03, 0.03));
    const Comparison there = CompareSides(base, fresh, {}, {});
    const Comparison back = CompareSides(fresh, base, {}, {});
    EXPECT_EQ(there.difference, -back.difference);
    EXPECT_EQ(there.interval.low, -back.interval.high);
    EXPECT_EQ(there.interval.high, -back.interval.low);
    EXPECT_EQ(there.p, back.p);
    EXPECT_EQ(there.verdict, MirrorOf(back.verdict));
    EXPECT_NEAR(there.ratio * back.ratio, 1, 1e-12);
  }
}

TEST(CompareSides, AFactorOnBothSidesChangesNoRatio) {
  std::mt19937_64 random(2);
  std::vector<double> base = RandomSteps(random, {.steps = 150, .rho = 0.5}, 250e6);
  std::vector<double> fresh = RandomSteps(random, {.steps = 170, .rho = 0.5}, 260e6);
  for (const Scale scale : {Scale::kLog, Scale::kLevel}) {
    const auto compare = [&](double factor) {
      std::vector<double> scaled_base = base;
      std::vector<double> scaled_fresh = fresh;
      for (double& value : scaled_base) value *= factor;
      for (double& value : scaled_fresh) value *= factor;
      const std::vector<RunEstimate> a = {EstimateRun(scaled_base, scale)};
      const std::vector<RunEstimate> b = {EstimateRun(scaled_fresh, scale)};
      return CompareSides(a, b, {}, {.scale = scale, .reference = 250e6 * factor});
    };
    const Comparison one = compare(1);
    const Comparison other = compare(0.001);
    EXPECT_NEAR(one.ratio, other.ratio, 1e-12);
    EXPECT_NEAR(one.ratio_interval.low, other.ratio_interval.low, 1e-12);
    EXPECT_NEAR(one.change_ns, 1000 * other.change_ns, 1e-3);
    EXPECT_EQ(one.verdict, other.verdict);
    EXPECT_EQ(one.verdict, Verdict::kSlower);
  }
}

TEST(CompareSides, TheOrderOfRepeatsMakesNoDifference) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 50; ++i) {
    auto base = RandomSide(random, 5, 0);
    auto fresh = RandomSide(random, 4, 0.02);
    const Comparison before = CompareSides(base, fresh, {}, {});
    std::shuffle(base.begin(), base.end(), random);
    std::shuffle(fresh.begin(), fresh.end(), random);
    const Comparison after = CompareSides(base, fresh, {}, {});
    EXPECT_EQ(before.difference, after.difference);
    EXPECT_EQ(before.interval.low, after.interval.low);
    EXPECT_EQ(before.p, after.p);
  }
}

TEST(CompareSides, ARunAgainstItselfIsTheSame) {
  std::mt19937_64 random(4);
  for (const size_t steps : {1, 3, 20, 400}) {
    for (const Scale scale : {Scale::kLog, Scale::kLevel}) {
      for (const size_t runs : {1, 3}) {
        const auto side = RandomSide(random, runs, 0, steps, scale);
        const Comparison result = CompareSides(side, side, {}, {.scale = scale, .with_floor = runs == 1});
        EXPECT_EQ(result.verdict, Verdict::kSame);
        EXPECT_EQ(result.difference, 0);
        EXPECT_EQ(result.interval.low, 0);
        EXPECT_EQ(result.interval.high, 0);
        EXPECT_EQ(result.change_ns, 0);
        EXPECT_EQ(result.p, 1);
      }
    }
  }
}

TEST(CompareSides, ACopyOfARunIsNoRepeat) {
  std::mt19937_64 random(5);
  const auto base = RandomSide(random, 2, 0);
  const auto fresh = RandomSide(random, 3, 0.02);
  auto copies = base;
  copies.insert(copies.end(), base.begin(), base.end());
  const Comparison once = CompareSides(base, fresh, {}, {});
  const Comparison twice = CompareSides(copies, fresh, {}, {});
  EXPECT_EQ(twice.base_runs, 2u);
  EXPECT_EQ(once.interval.low, twice.interval.low);
  EXPECT_EQ(once.interval.high, twice.interval.high);
}

TEST(CompareSides, RepeatsGiveStudentsTwoSampleTest) {
  const auto run = [](double level) { return RunEstimate{.steps = 9, .level = level, .error = 1, .effective = 2}; };
  const std::vector<RunEstimate> base = {run(1), run(2), run(3)};
  const std::vector<RunEstimate> fresh = {run(6), run(8), run(10)};
  const Comparison result = CompareSides(base, fresh, {}, {});
  // Pooled variance 10 / 4; error sqrt(2.5 * 2 / 3); t of 4 degrees of freedom 2.776445.
  EXPECT_DOUBLE_EQ(result.difference, 6);
  EXPECT_NEAR(result.interval.high - 6, 2.776445 * std::sqrt(5.0 / 3), 1e-5);
  EXPECT_EQ(result.verdict, Verdict::kSlower);  // repeats do not need effective steps
}

TEST(CompareSides, FewEffectiveStepsOfAPairAreRefused) {
  std::mt19937_64 random(6);
  const auto base = RandomSide(random, 1, 0, 6);
  const auto fresh = RandomSide(random, 1, 0.5, 300);
  const Comparison result = CompareSides(base, fresh, {}, {});
  EXPECT_EQ(result.verdict, Verdict::kNotEnoughSteps);
  EXPECT_GE(result.steps_needed, 8);
  EXPECT_LT(result.effective_steps, 8);
  EXPECT_NEAR(result.ratio, 1.5, 0.1);  // the estimate is still there to read
}

TEST(CompareSides, OneSideWithoutARunIsRefused) {
  std::mt19937_64 random(7);
  const auto side = RandomSide(random, 2, 0);
  EXPECT_EQ(CompareSides(side, {}, {}, {}).verdict, Verdict::kNotEnoughSteps);
  EXPECT_EQ(CompareSides({}, side, {}, {}).verdict, Verdict::kNotEnoughSteps);
  EXPECT_EQ(CompareSides({}, {}, {}, {}).verdict, Verdict::kNotEnoughSteps);
  const std::vector<RunEstimate> empty = {EstimateRun({}, Scale::kLog)};
  EXPECT_EQ(CompareSides(side, empty, {}, {}).verdict, Verdict::kNotEnoughSteps);
}

TEST(CompareSides, MoreStepsNarrowTheIntervalOnAverage) {
  std::mt19937_64 random(8);
  double few = 0;
  double many = 0;
  for (int i = 0; i < 200; ++i) {
    for (const size_t steps : {100, 400}) {
      const StepShape shape{.steps = steps, .rho = 0.3};
      const std::vector<RunEstimate> base = {EstimateRun(RandomSteps(random, shape, 1e6), Scale::kLog)};
      const std::vector<RunEstimate> fresh = {EstimateRun(RandomSteps(random, shape, 1e6), Scale::kLog)};
      const Interval interval = CompareSides(base, fresh, {}, {.with_floor = false}).interval;
      (steps == 100 ? few : many) += interval.high - interval.low;
    }
  }
  EXPECT_NEAR(many / few, 0.5, 0.1);
}

TEST(CompareSides, OnePairCannotFindWhatTheFloorHides) {
  std::mt19937_64 random(9);
  const StepShape shape{.steps = 5000};
  const std::vector<RunEstimate> base = {EstimateRun(RandomSteps(random, shape, 250e6), Scale::kLog)};
  const std::vector<RunEstimate> fresh = {EstimateRun(RandomSteps(random, shape, 250e6 * 1.015), Scale::kLog)};
  EXPECT_EQ(CompareSides(base, fresh, {}, {}).verdict, Verdict::kUnclear);
  EXPECT_EQ(CompareSides(base, fresh, {}, {.with_floor = false}).verdict, Verdict::kSlower);
  const std::vector<EarlierRun> quiet = {{.level = 19}, {.level = 19.001}, {.level = 19.002}, {.level = 19.0015}};
  EXPECT_EQ(CompareSides(base, fresh, quiet, {}).verdict, Verdict::kSlower);
}

TEST(CompareSides, SameMeansThatTheIntervalLiesWithinTheResolution) {
  std::mt19937_64 random(10);
  int same = 0;
  for (int i = 0; i < 400; ++i) {
    const auto base = RandomSide(random, 1 + random() % 4, 0);
    const auto fresh = RandomSide(random, 1 + random() % 4, Uniform(random, -0.03, 0.03));
    const Comparison result = CompareSides(base, fresh, {}, {});
    EXPECT_EQ(result.excluded, std::max(-result.interval.low, result.interval.high));
    if (result.verdict != Verdict::kSame) continue;
    ++same;
    EXPECT_LE(result.excluded, std::log1p(kMostCalledSame));
    EXPECT_LE(result.excluded, std::max(std::log1p(kNegligible), result.resolution));
  }
  EXPECT_GT(same, 20);
}

TEST(CompareSides, ASharpButTinyChangeIsTheSame) {
  std::mt19937_64 random(11);
  const StepShape shape{.steps = 20'000, .sd = 0.005};
  const std::vector<RunEstimate> base = {EstimateRun(RandomSteps(random, shape, 250e6), Scale::kLog)};
  const std::vector<RunEstimate> fresh = {EstimateRun(RandomSteps(random, shape, 250e6 * 1.003), Scale::kLog)};
  const Comparison result = CompareSides(base, fresh, {}, {.with_floor = false});
  EXPECT_GT(result.interval.low, 0);
  EXPECT_LT(result.p, 0.001);
  EXPECT_EQ(result.verdict, Verdict::kSame);
}

TEST(CompareSides, DriftsThatDifferWidenTheIntervalOverBothEnds) {
  std::mt19937_64 random(12);
  const StepShape up{.kind = StepKind::kDriftShared, .steps = 300, .sd = 0.005, .drift = 0.04};
  const StepShape down{.kind = StepKind::kDriftShared, .steps = 300, .sd = 0.005, .drift = -0.04};
  const std::vector<RunEstimate> rising = {EstimateRun(RandomSteps(random, up, 250e6), Scale::kLog)};
  const std::vector<RunEstimate> also_rising = {EstimateRun(RandomSteps(random, up, 250e6), Scale::kLog)};
  const std::vector<RunEstimate> falling = {EstimateRun(RandomSteps(random, down, 250e6), Scale::kLog)};
  const Comparison differ = CompareSides(falling, rising, {}, {.with_floor = false});
  EXPECT_NEAR(differ.drift, 0.04, 0.005);
  EXPECT_LT(differ.interval.low, 0.001);  // the same at the first step
  EXPECT_GT(differ.interval.high, 0.08);  // 8 % apart at the last one
  const Comparison share = CompareSides(rising, also_rising, {}, {.with_floor = false});
  EXPECT_LT(share.interval.high - share.interval.low, 0.01);
}

TEST(CompareSides, WaitsOfZeroHaveALevelAndNoRatio) {
  const std::vector<RunEstimate> none = {EstimateRun(std::vector<double>(100, 0.0), Scale::kLevel)};
  std::mt19937_64 random(13);
  const std::vector<RunEstimate> some = {
      EstimateRun(RandomSteps(random, {.kind = StepKind::kWaits, .steps = 400}, 250e6), Scale::kLevel)};
  const Comparison result = CompareSides(none, some, {}, {.scale = Scale::kLevel, .reference = 250e6});
  EXPECT_EQ(result.ratio, 0);
  EXPECT_GT(result.change_ns, 3e6);
  EXPECT_EQ(result.difference, result.change_ns);
}

TEST(CompareSides, MeansThatDifferByRoundingAreTheSame) {
  const std::vector<RunEstimate> a = {EstimateRun(std::vector<double>(100, 0.1), Scale::kLevel)};
  int rounded = 0;
  for (size_t steps = 30; steps < 100; ++steps) {
    const std::vector<RunEstimate> b = {EstimateRun(std::vector<double>(steps, 0.1), Scale::kLevel)};
    rounded += a[0].level != b[0].level ? 1 : 0;
    for (const double reference : {0.0, 250e6}) {
      const Comparison result = CompareSides(a, b, {}, {.scale = Scale::kLevel, .reference = reference});
      EXPECT_EQ(result.difference, 0);
    }
  }
  EXPECT_GT(rounded, 5);
}

TEST(CompareSides, AbsurdRunsHaveFiniteAnswers) {
  const double most = std::numeric_limits<double>::max();
  const double nan = std::nan("");
  std::vector<std::vector<double>> runs = {
      {}, {nan}, {most, -most, 1, 2}, {9e18, 1, 9e18, 1, 9e18, 1, 9e18, 1, 9e18, 1}};
  runs.push_back(std::vector<double>(40, 9.2e18));
  runs.push_back({-9e18, 9e18, -9e18, 9e18, -9e18, 9e18, -9e18, 9e18, 5e18, 1, 2, 3, 4, 5});
  for (const Scale scale : {Scale::kLog, Scale::kLevel}) {
    for (const auto& first : runs) {
      for (const auto& second : runs) {
        const std::vector<RunEstimate> a = {EstimateRun(first, scale), {.steps = 9, .level = nan}};
        const std::vector<RunEstimate> b = {EstimateRun(second, scale)};
        const std::vector<EarlierRun> earlier = {{.level = 1e300}, {.level = -1e300}, {.level = 3}, {.level = 4}};
        const Comparison result = CompareSides(a, b, {}, {.scale = scale, .reference = most});
        EXPECT_TRUE(std::isfinite(result.difference));
        EXPECT_TRUE(std::isfinite(result.base_level));
        EXPECT_FALSE(std::isnan(CompareSides(a, b, earlier, {.scale = scale}).ratio_interval.high));
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::compare
