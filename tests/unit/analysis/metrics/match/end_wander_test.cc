#include "analysis/metrics/match/lanes/end_wander.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace lockstep {
namespace {

// `pairs` distances of ends: each rank ends up to some microseconds late by itself, and `wander_ns` is added to the
// distance from each pair to the next.
std::vector<EndDistance> Distances(size_t pairs, double wander_ns, unsigned seed) {
  std::mt19937 random(seed);
  std::exponential_distribution<double> late(1 / 1'000.0);
  std::normal_distribution<double> step(0, 1);
  std::vector<EndDistance> out;
  double apart = 5e6;
  for (size_t i = 0; i < pairs; ++i) {
    apart += wander_ns * step(random);
    const auto distance = static_cast<int64_t>(apart + late(random) - late(random));
    out.push_back({static_cast<int64_t>(i) * 100'000, distance, 20'000, 0});
  }
  return out;
}

Wandering VerdictOf(const EndWander& wander) {
  WanderPool pool;
  pool.Add(0, 1, wander);
  return pool.Verdict();
}

TEST(EndWander, EndsOfTheSameCollectivesCarryNothingOver) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    const EndWander wander = MeasureEndWander(Distances(400, 0, seed));
    EXPECT_NEAR(wander.ratio, 2, 0.4) << seed;
    EXPECT_EQ(VerdictOf(wander), Wandering::kNone) << seed;
  }
}

TEST(EndWander, JobsInLockstepCarryTheirDelaysOver) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    EXPECT_EQ(VerdictOf(MeasureEndWander(Distances(400, 1'000, seed))), Wandering::kApart) << seed;
  }
}

TEST(EndWander, ClocksThatDriftApartDoNotWander) {
  std::vector<EndDistance> drifting = Distances(400, 0, 1);
  for (EndDistance& d : drifting) d.distance_ns += d.t_ns / 20'000;  // 50 ppm
  EXPECT_EQ(VerdictOf(MeasureEndWander(drifting)), Wandering::kNone);
}

// Three rows a step, which are 0.3 s apart: in a step the clocks drift by more than the ends scatter. Some rows are of
// a class that is too rare to count, which takes the thirds out of step.
TEST(EndWander, RowsThatComeInStepsDoNotWanderHoweverFastTheClocksDrift) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::vector<EndDistance> drifting = Distances(75, 0, seed);
    for (size_t i = 0; i < drifting.size(); ++i) {
      EndDistance& d = drifting[i];
      d.t_ns = static_cast<int64_t>(i / 3) * 300'000'000 + static_cast<int64_t>(i % 3) * 100'000;
      d.distance_ns += d.t_ns / 60'000;  // 17 ppm
      if (i % 25 == seed % 25) d.shortest_ns = 40'000;
    }
    const EndWander wander = MeasureEndWander(drifting);
    EXPECT_NEAR(wander.ratio, 2, 0.8) << seed;
    EXPECT_NE(VerdictOf(wander), Wandering::kApart) << seed;
  }
}

TEST(EndWander, AClockThatIsSetDoesNotWander) {
  std::vector<EndDistance> jumping = Distances(400, 0, 1);
  for (size_t i = 130; i < jumping.size(); ++i) jumping[i].distance_ns -= 700'000;
  EXPECT_EQ(VerdictOf(MeasureEndWander(jumping)), Wandering::kNone);
}

// Ten small collectives, ten large ones, and so on: those of a rank's place in the ring end later each time.
TEST(EndWander, LargeCollectivesMayLieAtADistanceOfTheirOwn) {
  std::vector<EndDistance> mixed = Distances(400, 0, 1);
  for (size_t i = 0; i < mixed.size(); ++i) {
    if (i / 10 % 2 == 0) continue;
    mixed[i].shortest_ns = 900'000;
    mixed[i].distance_ns += 12'000;
  }
  EXPECT_EQ(VerdictOf(MeasureEndWander(mixed)), Wandering::kNone);
}

TEST(EndWander, AFewFarEndsAmongManyDoNotHideIt) {
  std::vector<EndDistance> damaged = Distances(400, 1'000, 1);
  for (size_t i = 7; i < damaged.size(); i += 31) damaged[i].distance_ns += i % 2 == 0 ? 40'000 : -40'000;
  EXPECT_EQ(VerdictOf(MeasureEndWander(damaged)), Wandering::kApart);
}

TEST(EndWander, AFewPairsTellNothing) {
  EXPECT_EQ(MeasureEndWander(Distances(12, 1'000, 1)).pairs, 0);
  EXPECT_EQ(VerdictOf(MeasureEndWander(Distances(12, 1'000, 1))), Wandering::kUntold);
  for (unsigned seed = 1; seed <= 50; ++seed) {
    EXPECT_EQ(VerdictOf(MeasureEndWander(Distances(60, 0, seed))), Wandering::kUntold) << seed;
  }
}

TEST(EndWander, WhatOnePairOfShortLanesLeavesOpenManyTellTogether) {
  WanderPool one;
  WanderPool two;
  for (size_t lane = 0; lane < 8; ++lane) {
    one.Add(lane, lane, MeasureEndWander(Distances(60, 0, static_cast<unsigned>(lane))));
    two.Add(lane, lane, MeasureEndWander(Distances(60, 600, static_cast<unsigned>(lane))));
  }
  EXPECT_EQ(one.Verdict(), Wandering::kNone);
  EXPECT_EQ(two.Verdict(), Wandering::kApart);
}

TEST(EndWander, OneLaneComparedWithManyIsOneWitness) {
  WanderPool pool;
  for (size_t lane = 0; lane < 8; ++lane) {
    pool.Add(0, lane, MeasureEndWander(Distances(60, 0, static_cast<unsigned>(lane))));
  }
  EXPECT_EQ(pool.Verdict(), Wandering::kUntold);
}

}  // namespace
}  // namespace lockstep
