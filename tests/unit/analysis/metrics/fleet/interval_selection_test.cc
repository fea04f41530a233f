#include "analysis/metrics/fleet/interval_selection.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

IntervalMeasure Computing(int64_t compute, int64_t idle) {
  IntervalMeasure m;
  m.span_ns = compute + idle;
  m.compute_ns = compute;
  m.idle_other_ns = idle;
  return m;
}

// Three steps of 100 ns; a kernel of step 1 runs 10 ns into the window of step 2.
void AddThreeSteps(SourceBuilder& rank) {
  rank.Window(0, 300);
  for (int64_t n = 1; n <= 3; ++n) {
    StepRow& row = rank.Step(n, (n - 1) * 100, n * 100);
    row.first_start_ns = (n - 1) * 100;
    row.last_end_ns = n * 100 - 20;
    row.tile = Computing(80, 20);
  }
  std::vector<StepRow>& steps = rank.data().steps;
  steps[0].last_end_ns = 110;
  steps[0].after = Computing(10, 0);
  steps[1].before = Computing(5, -5);
}

TEST(MeasureWhole, IsTheSumOfAllTiles) {
  RunBuilder run;
  AddThreeSteps(run.AddRank(0));
  const FleetFixture fixture(run);
  const Fleet fleet = fixture.Make();
  EXPECT_EQ(MeasureSelected(fleet, fleet.members[0]).compute_ns, 240);
}

TEST(MeasureSelected, AddsWhatTheLastStepRunsBeyondItsWindow) {
  RunBuilder run;
  AddThreeSteps(run.AddRank(0));
  AnalysisOptions options;
  options.steps = {1, 1};
  const FleetFixture fixture(run, options);
  const Fleet fleet = fixture.Make();
  const IntervalMeasure m = MeasureSelected(fleet, fleet.members[0]);
  EXPECT_EQ(m.compute_ns, 90);
  EXPECT_EQ(m.span_ns, 110);
}

TEST(MeasureSelected, TakesAwayWhatEarlierStepsRunInsideTheFirst) {
  RunBuilder run;
  AddThreeSteps(run.AddRank(0));
  AnalysisOptions options;
  options.steps = {2, 3};
  const FleetFixture fixture(run, options);
  const Fleet fleet = fixture.Make();
  const IntervalMeasure m = MeasureSelected(fleet, fleet.members[0]);
  EXPECT_EQ(m.compute_ns, 155);
  EXPECT_EQ(m.span_ns, 180);
}

TEST(MeasureSelected, KeepsTheIdentityExact) {
  RunBuilder run;
  AddThreeSteps(run.AddRank(0));
  for (const auto& steps : {std::pair<int64_t, int64_t>{1, 1}, {1, 2}, {2, 3}, {1, 3}, {9, 9}}) {
    AnalysisOptions options;
    options.steps = steps;
    const FleetFixture fixture(run, options);
    const Fleet fleet = fixture.Make();
    const IntervalMeasure m = MeasureSelected(fleet, fleet.members[0]);
    EXPECT_EQ(m.compute_ns + m.exposed_comm_ns() + m.copy_only_ns + m.opaque_only_ns + m.idle_ns(), m.span_ns)
        << steps.first << ".." << steps.second;
  }
}

TEST(MeasureSelected, TakesStepsByTheNameOfTheirRange) {
  RunBuilder run;
  auto& rank = run.AddRank(0);
  AddThreeSteps(rank);
  rank.data().steps[2].name = run.Name("decode");
  AnalysisOptions options;
  options.nvtx = "decode";
  const FleetFixture fixture(run, options);
  const Fleet fleet = fixture.Make();
  EXPECT_EQ(MeasureSelected(fleet, fleet.members[0]).compute_ns, 80);
}

// What is launched in the first step ends at `first_ends`; `swapped`: the device begins the third step before the
// second.
bool IsExact(std::pair<int64_t, int64_t> steps, int64_t first_ends, bool swapped) {
  RunBuilder run;
  SourceBuilder& rank = run.AddRank(0);
  AddThreeSteps(rank);
  std::vector<StepRow>& rows = rank.data().steps;
  rows[0].last_end_ns = first_ends;
  if (swapped) std::swap(rows[1].step, rows[2].step);
  AnalysisOptions options;
  options.steps = steps;
  const FleetFixture fixture(run, options);
  const Fleet fleet = fixture.Make();
  return IsStepSelectionExact(fleet, *fleet.members[0].source);
}

TEST(IsStepSelectionExact, UnlessStretchesRunAtTheSameTimeOrSomethingEarlierRunsOnBeyondThem) {
  EXPECT_TRUE(IsExact({1, 3}, 290, false)) << "everything";
  EXPECT_TRUE(IsExact({2, 2}, 110, false)) << "what was launched earlier ends inside";
  EXPECT_FALSE(IsExact({2, 2}, 250, false)) << "it runs on beyond the end";
  EXPECT_TRUE(IsExact({3, 3}, 290, false)) << "nothing begins after the end";
  EXPECT_TRUE(IsExact({1, 2}, 110, true)) << "two stretches, one after the other";
  EXPECT_FALSE(IsExact({1, 2}, 250, true)) << "two stretches at the same time";
}

// Step 1 runs 60 ns, 2 and 3 run 30 ns each, all of which step 1 covers; the device begins step 3 before step 2.
IntervalMeasure OfNested(std::pair<int64_t, int64_t> steps, bool with_overlaps, bool* exact) {
  RunBuilder run;
  SourceBuilder& rank = run.AddRank(0);
  AddThreeSteps(rank);
  std::vector<StepRow>& rows = rank.data().steps;
  rows[0].last_end_ns = 290;
  std::swap(rows[1].step, rows[2].step);
  if (with_overlaps) {
    const auto runs = [](int64_t length) { return Computing(length, 0); };
    rank.data().summary.step_overlaps = {
        {1, 1, runs(60)}, {1, 2, runs(30)}, {1, 3, runs(30)}, {2, 2, runs(30)}, {3, 3, runs(30)}};
  }
  AnalysisOptions options;
  options.steps = steps;
  const FleetFixture fixture(run, options);
  const Fleet fleet = fixture.Make();
  *exact = IsStepSelectionExact(fleet, *fleet.members[0].source);
  return MeasureSelected(fleet, fleet.members[0]);
}

TEST(MeasureSelected, CountsWhatRunsOfStepsThatInterleaveOnce) {
  bool exact = false;
  IntervalMeasure m = OfNested({1, 2}, true, &exact);
  EXPECT_TRUE(exact);
  EXPECT_EQ(m.compute_ns, 60);
  EXPECT_EQ(m.span_ns, 290) << "the second stretch lies within the first";
  EXPECT_EQ(m.idle_ns(), 230);
  m = OfNested({3, 3}, true, &exact);
  EXPECT_TRUE(exact);
  EXPECT_EQ(m.compute_ns, 30);
  EXPECT_EQ(m.span_ns, 80);
}

TEST(MeasureSelected, OfStepsThatInterleaveAddsStretchesWhereOverlapsAreNotKnown) {
  bool exact = true;
  EXPECT_GT(OfNested({1, 2}, false, &exact).compute_ns, 60);
  EXPECT_FALSE(exact);
}

TEST(MeasureSelected, SnapsTimeOutwardToBuckets) {
  RunBuilder run;
  auto& rank = run.AddRank(0);
  rank.Kernel("k", {1});
  rank.Window(128, 512);
  rank.context().bucket_ns = 128;
  for (int64_t index = 1; index < 4; ++index)
    rank.data().buckets.push_back({index, Computing(100 + index, 28 - index)});
  AnalysisOptions options;
  options.time_ns = {100, 129};  // relative to 128: touches buckets 1 and 2
  const FleetFixture fixture(run, options);
  const Fleet fleet = fixture.Make();
  EXPECT_EQ(MeasureSelected(fleet, fleet.members[0]).compute_ns, 203);
}

TEST(BucketsTouching, RoundsDownForNegativeTimes) {
  const BucketRange range = BucketsTouching(10, {-11, -9});
  EXPECT_EQ(range.first, -2);
  EXPECT_EQ(range.last, 0);
}

}  // namespace
}  // namespace lockstep
