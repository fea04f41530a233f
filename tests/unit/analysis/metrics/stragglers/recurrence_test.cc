#include "analysis/metrics/stragglers/recurrence.h"

#include <gtest/gtest.h>

#include <random>

namespace lockstep {
namespace {

// Noise of deviation 1 around `level`.
std::vector<double> Noise(size_t n, double level, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(level);
  std::vector<double> series(n);
  for (double& value : series) value = normal(random);
  return series;
}

TEST(ClassifyRecurrence, LateInEveryStepIsPersistent) {
  EXPECT_EQ(ClassifyRecurrence(Noise(60, 20, 1), 5).kind, Recurrence::kPersistent);
}

TEST(ClassifyRecurrence, APauseEveryTenStepsIsPeriodicWithThatPeriod) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::vector<double> series = Noise(60, 0, seed);
    for (size_t i = 4; i < series.size(); i += 10) series[i] += 50;
    const RecurrenceResult result = ClassifyRecurrence(series, 5);
    EXPECT_EQ(result.kind, Recurrence::kPeriodic) << seed;
    EXPECT_EQ(result.period, 10) << seed;
  }
}

TEST(ClassifyRecurrence, OneLateStretchIsABurst) {
  std::vector<double> series = Noise(80, 0, 3);
  for (size_t i = 30; i < 50; ++i) series[i] += 20;
  EXPECT_EQ(ClassifyRecurrence(series, 5).kind, Recurrence::kBursty);
  const auto burst = FindBurst(series, 5);
  ASSERT_TRUE(burst.has_value());
  EXPECT_EQ(burst->first, 30u);
  EXPECT_EQ(burst->last, 50u);
}

TEST(ClassifyRecurrence, LateStepsWithoutOrderAreRandom) {
  std::vector<double> series = Noise(90, 0, 5);
  for (const size_t i : {3u, 5u, 14u, 31u, 37u, 52u, 66u, 69u, 88u}) series[i] += 40;
  EXPECT_EQ(ClassifyRecurrence(series, 5).kind, Recurrence::kRandom);
}

TEST(FindPeriod, SeldomTakesNoiseForAPeriod) {
  int alarms = 0;
  for (unsigned seed = 0; seed < 400; ++seed) alarms += FindPeriod(Noise(60, 0, seed)).has_value() ? 1 : 0;
  EXPECT_LE(alarms, 8);
}

TEST(FindBurst, SeldomTakesNoiseForABurst) {
  int alarms = 0;
  for (unsigned seed = 0; seed < 200; ++seed) alarms += FindBurst(Noise(60, 0, seed), 0.1).has_value() ? 1 : 0;
  EXPECT_LE(alarms, 2);
}

// Ranks of a healthy job: pauses of 150 us, two of which are two steps apart.
TEST(FindBurst, PausesOfWhichTwoAreCloseTogetherAreNone) {
  const std::vector<double> pauses = {-5, -4,  148, 10, 53, -2, -1,  -16, 4, 6, 178, 5,
                                      3,  -29, -20, -8, -9, -1, -14, 158, 6, 2, 1};
  EXPECT_FALSE(FindBurst(pauses, 3));
  std::vector<double> one_stretch = pauses;
  one_stretch[10] = one_stretch[19] = 0;
  EXPECT_TRUE(FindBurst(one_stretch, 3));
}

TEST(ClassifyRecurrence, OfHardlyAnyStepsClaimsNoOrder) {
  EXPECT_EQ(ClassifyRecurrence({0, 9, 0}, 5).kind, Recurrence::kRandom);
  EXPECT_EQ(ClassifyRecurrence({}, 5).kind, Recurrence::kRandom);
}

}  // namespace
}  // namespace lockstep
