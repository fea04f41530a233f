#include "analysis/metrics/fleet/bursts.h"

#include <gtest/gtest.h>

#include <string_view>

#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

// A bucket of 100 ns a letter: b busy, i idle, h half of each.
Bursts BurstsOf(std::string_view course) {
  SourceData source;
  for (size_t i = 0; i < course.size(); ++i) {
    BucketRow row;
    row.index = static_cast<int64_t>(i);
    row.measure.span_ns = 100;
    row.measure.compute_ns = course[i] == 'b' ? 100 : course[i] == 'h' ? 50 : 0;
    row.measure.idle_host_ns = 100 - row.measure.compute_ns;
    source.buckets.push_back(row);
  }
  return FindBursts(source).value_or(Bursts{-1});
}

TEST(Bursts, ABurstIsFollowedByIdleness) {
  const Bursts bursts = BurstsOf("bbbbiiiibbbbhiiihhhh");
  EXPECT_EQ(bursts.count, 2);
  EXPECT_EQ(bursts.busy_ns, 800);
  EXPECT_EQ(bursts.idle_ns, 700);
}

TEST(Bursts, WorkThatGoesOnIsNone) {
  EXPECT_EQ(BurstsOf("bbbbbbbbbbbbbbbbbbbb").count, 0);
  EXPECT_EQ(BurstsOf("bibibibibibibibibibi").count, 0) << "steps and the gaps between them";
  EXPECT_EQ(BurstsOf("bbbbhhhhbbbbhhhhbbbb").count, 0);
}

TEST(Bursts, AShortCaptureTellsNothing) { EXPECT_EQ(BurstsOf("bbbbiiii").count, -1); }

TEST(LongSteps, AreThoseThatComputeThreeTimesTheMedian) {
  RunBuilder run;
  SourceBuilder& rank = run.AddRank(0);
  for (int64_t step = 0; step < 10; ++step) {
    rank.Step(step, step * 100, (step + 1) * 100).tile.compute_ns = step == 6 ? 90 : 30;
  }
  const FleetFixture fixture(run);
  const Fleet fleet = fixture.Make();
  const auto steps = FindLongSteps(fleet, *fleet.members[0].source);
  ASSERT_TRUE(steps.has_value());
  EXPECT_EQ(steps->count, 1);
  EXPECT_EQ(steps->span_ns, 100);
  EXPECT_EQ(steps->all_span_ns, 1'000);
}

TEST(Serves, WhatTrainsDoesNot) {
  SourceData source;
  source.kernels.resize(2);
  source.kernels[0].kind.family = Family::kKvCache;
  EXPECT_TRUE(Serves(source));
  source.kernels[1].kind.family = Family::kOptimizer;
  EXPECT_FALSE(Serves(source));
}

}  // namespace
}  // namespace lockstep
