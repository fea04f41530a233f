#include "analysis/metrics/fleet/step_time.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

Sketch StepTimeOf(RunBuilder& run) {
  FleetFixture fixture(run);
  return ComputeStepTime(fixture.Make()).value_or(StepTime{}).time;
}

TEST(StepTime, OfAJobLastsFromItsLastRankToTheLastRankOfTheNextStep) {
  RunBuilder run;
  auto& fast = run.AddRank(0);
  fast.Step(1, 0, 100);
  fast.Step(2, 100, 220);
  auto& slow = run.AddRank(1);
  slow.Step(1, 0, 90);
  slow.Step(2, 90, 240);
  const Sketch time = StepTimeOf(run);
  EXPECT_EQ(time.count(), 2);
  EXPECT_EQ(time.min(), 100);
  EXPECT_EQ(time.max(), 140);  // both together: the run
}

// Rank 1 pauses before it begins step 2: that is in its step 1, and in step 2 of the others, which wait for it.
TEST(StepTime, APauseOfOneRankCountsOnce) {
  RunBuilder run;
  auto& waits = run.AddRank(0);
  waits.Step(1, 0, 100);
  waits.Step(2, 100, 240);
  waits.Step(3, 240, 340);
  auto& pauses = run.AddRank(1);
  pauses.Step(1, 0, 140);
  pauses.Step(2, 140, 240);
  pauses.Step(3, 240, 340);
  const Sketch time = StepTimeOf(run);
  EXPECT_EQ(time.count(), 3);
  EXPECT_EQ(time.sum(), 340);
  EXPECT_EQ(time.max(), 140);
  EXPECT_EQ(time.min(), 100);
}

TEST(StepTime, LeavesOutStepsThatNotAllRanksHave) {
  RunBuilder run;
  auto& whole = run.AddRank(0);
  whole.Step(1, 0, 1000);
  whole.Step(2, 1000, 1100);
  run.AddRank(1).Step(2, 1000, 1120);
  const Sketch time = StepTimeOf(run);
  EXPECT_EQ(time.count(), 1);
  EXPECT_EQ(time.max(), 120);
}

TEST(StepTime, CountsEveryStepWhereRanksNumberThemAlone) {
  RunBuilder run;
  for (int32_t rank = 0; rank < 2; ++rank) {
    auto& one = run.AddRank(rank);
    one.data().context.step_source = StepSource::kEngine;
    one.Step(0, 0, 100 + rank);
  }
  EXPECT_EQ(StepTimeOf(run).count(), 2);
}

TEST(StepTime, ALastStepEndsWithItsOwnLastActivity) {
  RunBuilder run;
  auto& rank = run.AddRank(0);
  rank.Step(1, 0, 100);
  StepRow& last = rank.Step(2, 100, 5000);
  last.first_start_ns = 100;
  last.last_end_ns = 190;
  EXPECT_EQ(StepTimeOf(run).min(), 90);
}

TEST(StepTime, IsNotKnownWithoutSteps) {
  RunBuilder run;
  (void)run.AddRank(0);
  FleetFixture fixture(run);
  EXPECT_FALSE(ComputeStepTime(fixture.Make()));
}

}  // namespace
}  // namespace lockstep
