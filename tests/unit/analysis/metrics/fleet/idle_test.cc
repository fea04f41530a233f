#include "analysis/metrics/fleet/idle.h"

#include <gtest/gtest.h>

#include "analysis/condense/selection.h"
#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

SourceBuilder& AddRankWithGaps(RunBuilder& run) {
  auto& rank = run.AddRank(0);
  for (int64_t n = 0; n < 4; ++n) {
    StepRow& step = rank.Step(n, n * 100, (n + 1) * 100);
    step.tile.idle_host_ns = 10;
    step.tile.idle_launch_ns = 20;
    step.tile.idle_dependency_ns = 30;
    step.tile.idle_other_ns = 40;
    step.first_start_ns = n * 100;
    step.last_end_ns = (n + 1) * 100;
    step.longest_gap_ns = 10 * (4 - n);
  }
  rank.data().summary.gaps.Add(7, 3);
  rank.data().summary.streams.push_back({7, 1, 2, 3});
  return rank;
}

TEST(Idle, PartsSumToTheIdleTime) {
  RunBuilder run;
  AddRankWithGaps(run);
  const FleetFixture fixture(run);
  const IdleOfRank idle = ComputeIdle(fixture.Make()).at(0);
  EXPECT_EQ(idle.measure.idle_ns(), 400);
  EXPECT_EQ(idle.measure.idle_host_ns, 40);
  EXPECT_EQ(idle.gaps->count(), 3);
}

TEST(Idle, DominantGapIsTheMedianOfTheLongestGapPerStep) {
  RunBuilder run;
  AddRankWithGaps(run);
  const FleetFixture fixture(run);
  EXPECT_EQ(ComputeIdle(fixture.Make()).at(0).dominant_gap_ns, 20);
}

TEST(Idle, OfTablesThatWereCondensedWithTheSelectionHasItsGapsAndStreams) {
  RunBuilder run;
  AddRankWithGaps(run).data().context.options.emplace(kSelectedTables, "");
  AnalysisOptions options;
  options.steps = {1, 2};
  const FleetFixture fixture(run, options);
  const IdleOfRank idle = ComputeIdle(fixture.Make()).at(0);
  EXPECT_EQ(idle.measure.idle_ns(), 200);
  EXPECT_EQ(idle.gaps->count(), 3);
  EXPECT_EQ(idle.streams.size(), 1U);
}

TEST(Idle, OfStepsAndATimeAskedForTogetherHasNoGapsOfEither) {
  RunBuilder run;
  AddRankWithGaps(run).data().context.options.emplace(kSelectedTables, "");
  run.Source(0).context().bucket_ns = 64;
  IntervalMeasure bucket;
  bucket.span_ns = bucket.idle_host_ns = 64;
  run.Source(0).data().buckets = {{1, bucket}, {2, bucket}};
  AnalysisOptions options;
  options.steps = {1, 2};
  options.time_ns = {64, 128};
  const FleetFixture fixture(run, options);
  const IdleOfRank idle = ComputeIdle(fixture.Make()).at(0);
  EXPECT_EQ(idle.measure.idle_ns(), 64);  // of the time, whatever the step
  EXPECT_FALSE(idle.gaps.has_value());
  EXPECT_TRUE(idle.streams.empty());
  EXPECT_FALSE(idle.dominant_gap_ns.has_value());
}

TEST(Idle, OfAStepSelectionHasNoGapDistribution) {
  RunBuilder run;
  AddRankWithGaps(run);
  AnalysisOptions options;
  options.steps = {1, 2};
  const FleetFixture fixture(run, options);
  const IdleOfRank idle = ComputeIdle(fixture.Make()).at(0);
  EXPECT_EQ(idle.measure.idle_ns(), 200);
  EXPECT_FALSE(idle.gaps.has_value());
  EXPECT_TRUE(idle.streams.empty());
}

}  // namespace
}  // namespace lockstep
