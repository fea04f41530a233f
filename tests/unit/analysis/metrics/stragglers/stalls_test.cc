#include "analysis/metrics/stragglers/stalls.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/unit/analysis/metrics/stragglers/eight_ranks.h"

namespace lockstep {
namespace {

// Rank 5, later by `late_ns` in the units from `first` until before `last`. 1 % of a unit are 60 us.
Candidate LateFor(size_t first, size_t last, double late_ns, uint64_t seed = 1) {
  Candidate candidate = EightRanks(seed, 60, 0, 0)[5];
  for (size_t unit = first; unit < last; ++unit) candidate.series[unit] += late_ns;
  return candidate;
}

// In so many units that the sign test cannot tell, or the median is a stall itself.
TEST(Stalls, InUpToNearlyThreeQuartersOfTheUnitsAreSeen) {
  for (const int every_hundredth : {5, 30, 50, 55, 70}) {
    Candidate candidate = LateFor(0, 0, 0);
    for (size_t unit = 0; unit < 60; ++unit) {
      const bool stalls = static_cast<int>(unit * 37 % 100) < every_hundredth;
      if (stalls) candidate.series[unit] += 2'000'000;
    }
    EXPECT_TRUE(Stalls(candidate)) << every_hundredth;
  }
}

TEST(Stalls, AreNotSeenInNoiseNorInLatenessOfEveryUnit) {
  for (uint64_t seed = 1; seed <= 100; ++seed) EXPECT_FALSE(Stalls(EightRanks(seed, 60, 1, 300'000)[5])) << seed;
}

// In a third of the units the other one of a pair is late: these all have one value, at two deviations below the
// others.
TEST(Stalls, AreToldFromNoiseWhereManyUnitsAreLeftOut) {
  Candidate candidate = LateFor(0, 0, 0);
  candidate.least_noise_ns = 10'000;
  for (size_t unit = 0; unit < 60; unit += 3) candidate.series[unit] = -20'000;
  EXPECT_FALSE(Stalls(candidate));
  for (const size_t unit : {7, 20, 34, 50}) candidate.series[unit] = 1'000'000;
  ASSERT_TRUE(UsualStall(candidate));
  EXPECT_NEAR(*UsualStall(candidate), 1'020'000, 5'000);
}

TEST(StandsOut, ARankThatIsSlowInOneStretchOfTheRunHoweverLong) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_TRUE(StandsOut(LateFor(0, 30, 300'000, seed))) << seed;
    EXPECT_TRUE(StandsOut(LateFor(30, 60, 300'000, seed))) << seed;
    EXPECT_TRUE(StandsOut(LateFor(20, 26, 300'000, seed))) << seed;
  }
}

TEST(StandsOut, AStretchInWhichItIsLateByLessThanDevicesDifferDoesNot) {
  EXPECT_TRUE(StandsOut(LateFor(20, 40, 90'000)));
  EXPECT_FALSE(StandsOut(LateFor(20, 40, 45'000)));
}

TEST(StandsOut, NeitherNoiseNorLatenessInEveryUnitDoes) {
  for (uint64_t seed = 1; seed <= 100; ++seed) EXPECT_FALSE(StandsOut(EightRanks(seed, 60, 1, 300'000)[5])) << seed;
}

TEST(StandsOut, LatenessOutsideTheStretchThatIsAsLargeHidesIt) {
  Candidate candidate = LateFor(0, 60, 250'000);
  for (size_t unit = 20; unit < 30; ++unit) candidate.series[unit] += 150'000;
  EXPECT_FALSE(StandsOut(candidate));
}

// A device whose speed wanders: a fifth of a percent, correlated over tens of steps.
TEST(StandsOut, SlowNoiseOfDevicesDoesNot) {
  constexpr double kRho = 0.98;
  constexpr double kUnitNs = 6'000'000;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(0, 0.002 * kUnitNs);
    Candidate candidate = LateFor(0, 0, 0, seed);
    double speed = noise(random);
    for (double& late : candidate.series) {
      late = speed;
      speed = kRho * speed + std::sqrt(1 - kRho * kRho) * noise(random);
    }
    EXPECT_FALSE(StandsOut(candidate)) << seed;
  }
}

TEST(LateThroughout, IsWhoIsLateInNearlyAllUnitsByMoreThanTheyDiffer) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    EXPECT_TRUE(LateThroughout(LateFor(0, 60, 300'000, seed))) << seed;
    EXPECT_FALSE(LateThroughout(LateFor(0, 40, 300'000, seed))) << seed;
    EXPECT_FALSE(LateThroughout(LateFor(0, 60, 50'000, seed))) << seed;
    EXPECT_FALSE(LateThroughout(LateFor(0, 0, 0, seed))) << seed;
  }
}

}  // namespace
}  // namespace lockstep
