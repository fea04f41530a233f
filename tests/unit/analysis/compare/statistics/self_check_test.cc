#include "analysis/compare/statistics/self_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "bench/accuracy/random_steps.h"

namespace lockstep::compare {
namespace {

TEST(SelfCheck, RaisesFewAlarmsOnSteadyRuns) {
  std::mt19937_64 random(1);
  size_t deals = 0;
  size_t alarms = 0;
  for (int run = 0; run < 150; ++run) {
    StepShape shape = RandomShape(random, kStepKinds[run % 4], 100 + random() % 400, Uniform(random, 0, 0.8));
    const SelfCheck check = CheckAgainstItself(RandomSteps(random, shape, 250e6), Scale::kLog);
    deals += check.deals - check.refused;
    alarms += check.alarms;
  }
  EXPECT_GT(deals, 2000u);
  EXPECT_LE(static_cast<double>(alarms), kMostFalseAlarms * static_cast<double>(deals));
}

TEST(SelfCheck, ARunWhoseHalvesDifferIsNotCalledSteady) {
  std::mt19937_64 random(2);
  for (const double jump : {0.0, 0.01, 0.05, 0.3}) {
    std::vector<double> values = RandomSteps(random, {.steps = 256, .rho = 0}, 250e6);
    for (size_t i = 128; i < values.size(); ++i) values[i] *= 1 + jump;
    const SelfCheck check = CheckAgainstItself(values, Scale::kLog);
    EXPECT_EQ(check.deals == 0 || check.halves_alarm, jump > 0) << jump;
  }
}

TEST(SelfCheck, HasNoDealsForShortRuns) {
  EXPECT_EQ(CheckAgainstItself({}, Scale::kLog).deals, 0u);
  EXPECT_EQ(CheckAgainstItself(std::vector<double>{1, 2, 3, 4, 5}, Scale::kLog).deals, 0u);
}

TEST(SelfCheck, AConstantRunIsTheSameAsItself) {
  const SelfCheck check = CheckAgainstItself(std::vector<double>(100, 5e6), Scale::kLevel);
  EXPECT_GT(check.deals, 10u);
  EXPECT_EQ(check.alarms, 0u);
  EXPECT_EQ(check.largest, 0);
}

}  // namespace
}  // namespace lockstep::compare
