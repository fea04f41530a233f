#include "analysis/metrics/fleet/common_window.h"

#include <gtest/gtest.h>

#include "analysis/condense/selection.h"
#include "analysis/metrics/fleet/interval_selection.h"
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

// Rank 1 needs `step_ns` for each of its ten steps, rank 0 100 ns: they do not wait for each other.
CommonWindow OfDrifting(int64_t step_ns) {
  RunBuilder run;
  AddSteps(AddRankWithSpan(run, 0, 0, 1'000), 0, 9, 0);
  auto& slow = AddRankWithSpan(run, 1, 0, 10 * step_ns);
  for (int64_t n = 0; n < 10; ++n) slow.Step(n, n * step_ns, (n + 1) * step_ns);
  const FleetFixture fixture(run);
  return FindCommonWindow(fixture.Make());
}

TEST(CommonWindow, OfRanksWhoseStepsDriftApartIsTheTimeTheyShare) {
  const CommonWindow window = OfDrifting(150);  // only the steps 0 and 1 overlap
  EXPECT_EQ(window.kind, WindowKind::kBuckets);
  EXPECT_GT(window.span_ns, 950);
  EXPECT_EQ(OfDrifting(105).kind, WindowKind::kSteps) << "all but the last steps overlap";
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

// A rank of a file that was cut at the time asked for: busy in one bucket of 16 ns each.
SourceBuilder& AddCutRank(RunBuilder& run, int32_t rank, int64_t start, int64_t end, int64_t bucket) {
  SourceBuilder& source = AddRankWithSpan(run, rank, start, end);
  source.context().options.emplace(kSelectedTables, "");
  IntervalMeasure busy;
  busy.span_ns = busy.compute_ns = 16;
  source.data().buckets = {{bucket, busy}};
  return source;
}

TEST(CommonWindow, OfATimeOfFilesIsExactlyThatTime) {
  RunBuilder run;
  AddCutRank(run, 0, 0, 10'000, 10);
  AddCutRank(run, 1, 0, 10'000, 20);
  AnalysisOptions options;
  options.time_ns = {100, 2'100};
  const FleetFixture fixture(run, options);
  const Fleet fleet = fixture.Make();
  const CommonWindow window = FindCommonWindow(fleet);
  EXPECT_EQ(window.kind, WindowKind::kTime);
  EXPECT_TRUE(window.of_selection);
  EXPECT_EQ(window.start_ns, 100);
  EXPECT_EQ(window.span_ns, 2'000);
  EXPECT_EQ(MeasureCommon(fleet, window, 0).compute_ns, 16);
}

TEST(CommonWindow, OfATimeShorterThanTheBucketsIsThatTimeAndNotDisjoint) {
  RunBuilder run;
  AddCutRank(run, 0, 0, 10'000, 6);
  AddCutRank(run, 1, 104, 10'000, 6);
  AnalysisOptions options;
  options.time_ns = {100, 112};
  const FleetFixture fixture(run, options);
  const CommonWindow window = FindCommonWindow(fixture.Make());
  EXPECT_EQ(window.kind, WindowKind::kTime);
  EXPECT_TRUE(window.of_selection);
  EXPECT_TRUE(window.LongEnough());
}

TEST(CommonWindow, OfATimeThatTheRanksDoNotShareIsDisjoint) {
  RunBuilder run;
  AddCutRank(run, 0, 0, 1'000, 6);
  AddCutRank(run, 1, 1'500, 2'500, 100);
  AnalysisOptions options;
  options.time_ns = {900, 1'600};
  const FleetFixture fixture(run, options);
  EXPECT_EQ(FindCommonWindow(fixture.Make()).kind, WindowKind::kDisjoint);
}

TEST(CommonWindow, OfStepsAndATimeIsTheTime) {
  RunBuilder run;
  AddSteps(AddCutRank(run, 0, 0, 10'000, 10), 0, 3, 0);
  AnalysisOptions options;
  options.steps = {1, 2};
  options.time_ns = {100, 2'100};
  const FleetFixture fixture(run, options);
  EXPECT_EQ(FindCommonWindow(fixture.Make()).kind, WindowKind::kTime);
}

TEST(CommonWindow, OfStepsIsOfTheSelectionWhereAllRanksHaveAllOfThem) {
  AnalysisOptions options;
  options.steps = {1, 3};
  for (const bool all : {true, false}) {
    RunBuilder run;
    AddSteps(AddRankWithSpan(run, 0, 0, 500), 0, 4, 0);
    AddSteps(AddRankWithSpan(run, 1, 0, 500), all ? 0 : 2, 4, 0);
    const FleetFixture fixture(run, options);
    const CommonWindow window = FindCommonWindow(fixture.Make());
    EXPECT_EQ(window.kind, WindowKind::kSteps);
    EXPECT_EQ(window.of_selection, all);
    EXPECT_EQ(window.first_step, all ? 1 : 2);
    EXPECT_EQ(window.last_step, 3);
  }
}

// Ranges of one name are numbered by each rank alone: one that launched nothing shifts the numbers of those behind it.
TEST(CommonWindow, OfRangesIsAllThatTheRangesOfEachRankLaunched) {
  RunBuilder run;
  for (const int32_t number : {0, 1}) {
    SourceBuilder& rank = AddRankWithSpan(run, number, 0, 500);
    for (const int64_t n : {0, 1, 2}) {
      StepRow& row = rank.Step(n + number, n * 100, (n + 1) * 100);
      row.name = run.Name("send");
      row.tile.compute_ns = 40;
      row.tile.idle_other_ns = 60;
      row.first_start_ns = n * 100;
      row.last_end_ns = (n + 1) * 100;
    }
    rank.Window(0, 500);
  }
  AnalysisOptions options;
  options.nvtx = "send";
  const FleetFixture fixture(run, options);
  const Fleet fleet = fixture.Make();
  const CommonWindow window = FindCommonWindow(fleet);
  EXPECT_EQ(Name(window.kind), "ranges");
  EXPECT_EQ(window.span_ns, 300);
  for (const size_t member : {0, 1}) {
    EXPECT_EQ(MeasureCommon(fleet, window, member), MeasureSelected(fleet, fleet.members[member]));
    EXPECT_EQ(MeasureCommon(fleet, window, member).compute_ns, 120);
  }
}

TEST(CommonWindow, OfRangesThatNobodyHasIsNone) {
  RunBuilder run;
  AddSteps(AddRankWithSpan(run, 0, 0, 500), 0, 4, 0);
  AnalysisOptions options;
  options.nvtx = "send";
  const FleetFixture fixture(run, options);
  EXPECT_EQ(FindCommonWindow(fixture.Make()).kind, WindowKind::kNone);
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
