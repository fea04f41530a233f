#include "analysis/metrics/fleet/common_window.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

SourceBuilder& AddRankWithSpan(RunBuilder& run, int32_t rank, int64_t start, int64_t end) {
  auto& source = run.AddRank(rank);
  source.Kernel("k", {1});
  source.Window(start, end);
  source.context().bucket_ns = 16;
  return source;
}

void AddSteps(SourceBuilder& source, int64_t first, int64_t last, int64_t shift) {
  for (int64_t n = first; n <= last; ++n) {
    StepRow& row = source.Step(n, n * 100 + shift, (n + 1) * 100 + shift);
    row.tile.compute_ns = row.tile.span_ns;
  }
}

TEST(CommonWindow, TakesTheStepsThatAllRanksHave) {
  RunBuilder run;
  AddSteps(AddRankWithSpan(run, 0, 100, 500), 1, 4, 0);
  AddSteps(AddRankWithSpan(run, 1, 207, 607), 2, 5, 7);
  const FleetFixture fixture(run);
  const CommonWindow window = FindCommonWindow(fixture.Make());
  EXPECT_EQ(window.kind, WindowKind::kSteps);
  EXPECT_EQ(window.first_step, 2);
  EXPECT_EQ(window.last_step, 4);
  EXPECT_EQ(window.start_ns, 200);
  EXPECT_EQ(window.span_ns, 300);
}

TEST(CommonWindow, UsesNoStepsThatOnlyShareANumber) {
  RunBuilder run;
  AddSteps(AddRankWithSpan(run, 0, 100, 300), 1, 2, 0);
  AddSteps(AddRankWithSpan(run, 1, 10'100, 10'300), 1, 2, 10'000);
  const FleetFixture fixture(run);
  const CommonWindow window = FindCommonWindow(fixture.Make());
  EXPECT_EQ(window.kind, WindowKind::kDisjoint);
  EXPECT_FALSE(window.LongEnough());
}

TEST(CommonWindow, FallsBackToWholeBucketsInsideAllSpans) {
  RunBuilder run;
  AddRankWithSpan(run, 0, 0, 1'000);
  AddRankWithSpan(run, 1, 100, 900);
  const FleetFixture fixture(run);
  const CommonWindow window = FindCommonWindow(fixture.Make());
  EXPECT_EQ(window.kind, WindowKind::kBuckets);
  EXPECT_EQ(window.start_ns, 112);
  EXPECT_EQ(window.span_ns, 784);
  EXPECT_EQ(window.local_ns[1].first, 112);
  EXPECT_EQ(window.local_ns[1].second, 896);
  EXPECT_TRUE(window.LongEnough());
}

TEST(CommonWindow, IsTheSpanOfASingleRankWithoutSteps) {
  RunBuilder run;
  AddRankWithSpan(run, 0, 5, 77);
  const FleetFixture fixture(run);
  const CommonWindow window = FindCommonWindow(fixture.Make());
  EXPECT_EQ(window.kind, WindowKind::kSpan);
  EXPECT_EQ(window.span_ns, 72);
}

TEST(CommonWindow, IsNoneWhereTheRanksDoNotShareTheStepsAskedFor) {
  RunBuilder run;
  AddSteps(AddRankWithSpan(run, 0, 100, 500), 1, 4, 0);
  AnalysisOptions options;
  options.steps = {7, 9};
  const FleetFixture fixture(run, options);
  const Fleet fleet = fixture.Make();
  const CommonWindow window = FindCommonWindow(fleet);
  EXPECT_EQ(window.kind, WindowKind::kNone);
  EXPECT_EQ(MeasureCommon(fleet, window, 0), IntervalMeasure());
}

TEST(CommonWindow, IsTooShortUnderHalfOfTheMedianSpan) {
  RunBuilder run;
  AddRankWithSpan(run, 0, 0, 1'000);
  AddRankWithSpan(run, 1, 600, 1'600);
  const FleetFixture fixture(run);
  EXPECT_FALSE(FindCommonWindow(fixture.Make()).LongEnough());
}

TEST(CommonWindow, CountsBucketsThatWereNotRecordedAsIdle) {
  RunBuilder run;
  auto& rank0 = AddRankWithSpan(run, 0, 0, 64);
  AddRankWithSpan(run, 1, 0, 64);
  IntervalMeasure busy;
  busy.span_ns = busy.compute_ns = 16;
  rank0.data().buckets = {{1, busy}};
  const FleetFixture fixture(run);
  const Fleet fleet = fixture.Make();
  const IntervalMeasure measure = MeasureCommon(fleet, FindCommonWindow(fleet), 0);
  EXPECT_EQ(measure.span_ns, 64);
  EXPECT_EQ(measure.idle_ns(), 48);
}

}  // namespace
}  // namespace lockstep
