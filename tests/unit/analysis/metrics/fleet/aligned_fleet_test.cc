// What is compared between ranks is compared on the aligned axis, and summed on each rank's own clock.
#include <gtest/gtest.h>

#include <numeric>

#include "analysis/metrics/fleet/common_window.h"
#include "analysis/metrics/fleet/interval_selection.h"
#include "analysis/metrics/fleet/pace.h"
#include "analysis/metrics/fleet/steps.h"
#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

constexpr int64_t kOffset = 1'000'000;  // how far the clock of rank 1 runs ahead
constexpr int64_t kBucket = 64;

SourceBuilder& AddRankOver(RunBuilder& run, int32_t rank, int64_t start, int64_t end) {
  SourceBuilder& source = run.AddRank(rank);
  source.Kernel("k", {1});
  source.Window(start, end);
  source.context().bucket_ns = kBucket;
  return source;
}

// A busy bucket of each cell of the rank's own grid that touches [start, end).
void AddBuckets(SourceBuilder& source, int64_t start, int64_t end) {
  for (int64_t i = FloorIndex(start, kBucket); i * kBucket < end; ++i) {
    IntervalMeasure busy;
    busy.span_ns = busy.compute_ns = kBucket;
    source.data().buckets.push_back({i, busy});
  }
}

// Rank 1 on a host of its own whose clock is `offset` ahead; in one component with rank 0 unless told otherwise.
void SetOffset(FleetFixture& fixture, int64_t offset, int32_t component = 0) {
  DomainClock clock;
  clock.component = component;
  clock.method = ClockMethod::kBand;
  clock.knots = {{.t_ns = 0, .offset_ns = offset}};
  fixture.match.clock.SetDomain(1, DomainId{1});
  fixture.match.clock.SetDomainClock(DomainId{1}, clock);
}

TEST(AlignedFleet, TheRunStartsWithItsEarliestActivityOnTheAlignedAxis) {
  RunBuilder run;
  AddRankOver(run, 0, 500, 900);
  AddRankOver(run, 1, 300 + kOffset, 800 + kOffset);
  FleetFixture fixture(run);
  SetOffset(fixture, kOffset);
  const Fleet fleet = fixture.Make();
  EXPECT_EQ(fleet.run_start_ns, 300);
  EXPECT_EQ(fleet.SinceStart(fleet.members[1], 310 + kOffset), 10);
  EXPECT_EQ(fleet.SinceStart(fleet.members[0], 310), 10);
}

TEST(AlignedFleet, ATimeWindowIsTheSameInstantOnEveryClock) {
  RunBuilder run;
  AddRankOver(run, 0, 0, 900);
  AddRankOver(run, 1, kOffset, 900 + kOffset);
  AnalysisOptions options;
  options.time_ns = {100, 200};
  FleetFixture fixture(run, options);
  SetOffset(fixture, kOffset);
  const Fleet fleet = fixture.Make();
  EXPECT_EQ(fleet.TimeWindowOf(fleet.members[0])->first, 100);
  EXPECT_EQ(fleet.TimeWindowOf(fleet.members[1])->first, 100 + kOffset);
  EXPECT_EQ(fleet.TimeWindowOf(fleet.members[1])->second, 200 + kOffset);
}

TEST(AlignedFleet, AnEndlessTimeWindowDoesNotOverflow) {
  RunBuilder run;
  AddRankOver(run, 0, 0, 900);
  AddRankOver(run, 1, kOffset, 900 + kOffset);
  AnalysisOptions options;
  options.time_ns = {INT64_MIN, INT64_MAX};
  FleetFixture fixture(run, options);
  SetOffset(fixture, kOffset);
  const Fleet fleet = fixture.Make();
  EXPECT_LT(fleet.TimeWindowOf(fleet.members[1])->first, 0);
  EXPECT_GT(fleet.TimeWindowOf(fleet.members[1])->second, 900 + kOffset);
}

TEST(AlignedFleet, TheCommonWindowIgnoresHowFarClocksLieApart) {
  RunBuilder run;
  AddRankOver(run, 0, 0, 2'000);
  AddRankOver(run, 1, kOffset + 300, kOffset + 2'300);
  FleetFixture fixture(run);
  SetOffset(fixture, kOffset);
  const CommonWindow window = FindCommonWindow(fixture.Make());
  EXPECT_EQ(window.kind, WindowKind::kBuckets);
  EXPECT_EQ(window.intersection_ns, 1'700);
  EXPECT_TRUE(window.LongEnough());
}

TEST(AlignedFleet, EveryRankIsMeasuredOverEquallyManyOfItsOwnBuckets) {
  RunBuilder run;
  AddBuckets(AddRankOver(run, 0, 0, 2'000), 0, 2'000);
  AddBuckets(AddRankOver(run, 1, kOffset + 13, kOffset + 2'013), kOffset + 13, kOffset + 2'013);
  FleetFixture fixture(run);
  SetOffset(fixture, kOffset + 13);
  const Fleet fleet = fixture.Make();
  const CommonWindow window = FindCommonWindow(fleet);
  ASSERT_EQ(window.kind, WindowKind::kBuckets);
  for (size_t i = 0; i < 2; ++i) {
    const auto [start, end] = window.local_ns[i];
    EXPECT_EQ(start % kBucket, 0);
    EXPECT_EQ(end - start, window.span_ns);
    EXPECT_GE(fleet.ToAligned(fleet.members[i], start), 0);
    EXPECT_LE(fleet.ToAligned(fleet.members[i], end), 2'000);
    EXPECT_EQ(MeasureCommon(fleet, window, i).span_ns, window.span_ns);
    EXPECT_EQ(MeasureCommon(fleet, window, i).compute_ns, window.span_ns);
  }
}

TEST(AlignedFleet, StepsMustOverlapOnTheAlignedAxis) {
  for (const bool aligned : {true, false}) {
    RunBuilder run;
    for (int32_t r = 0; r < 2; ++r) {
      SourceBuilder& source = AddRankOver(run, r, r * kOffset, r * kOffset + 400);
      for (int64_t n = 0; n < 4; ++n) source.Step(n, r * kOffset + n * 100, r * kOffset + (n + 1) * 100);
    }
    FleetFixture fixture(run);
    SetOffset(fixture, aligned ? kOffset : 0);
    const CommonWindow window = FindCommonWindow(fixture.Make());
    EXPECT_EQ(window.kind == WindowKind::kSteps, aligned);
    EXPECT_EQ(window.start_ns, 0);
  }
}

TEST(AlignedFleet, StepsOfClocksThatShareNothingNeedNotOverlap) {
  RunBuilder run;
  for (int32_t r = 0; r < 2; ++r) {
    SourceBuilder& source = AddRankOver(run, r, r * kOffset, r * kOffset + 400);
    for (int64_t n = 0; n < 4; ++n) source.Step(n, r * kOffset + n * 100, r * kOffset + (n + 1) * 100);
  }
  FleetFixture fixture(run);
  SetOffset(fixture, 0, 1);
  const Fleet fleet = fixture.Make();
  EXPECT_EQ(fleet.Components(), 2U);
  EXPECT_EQ(FindCommonWindow(fleet).kind, WindowKind::kSteps);
}

TEST(AlignedFleet, StepsAreSelectedByAlignedTime) {
  RunBuilder run;
  for (int32_t r = 0; r < 2; ++r) {
    SourceBuilder& source = AddRankOver(run, r, r * kOffset, r * kOffset + 400);
    for (int64_t n = 0; n < 4; ++n) source.Step(n, r * kOffset + n * 100, r * kOffset + (n + 1) * 100);
  }
  AnalysisOptions options;
  options.time_ns = {100, 200};
  FleetFixture fixture(run, options);
  SetOffset(fixture, kOffset);
  const FleetMeasures measures = fixture.Measure();
  const std::vector<StepOfRank> steps = ComputeSteps(fixture.Make(), measures);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].row->step, 1);
  EXPECT_EQ(steps[1].row->step, 1);
}

// Twelve buckets of which the first half computes: the same course on every clock, whatever its offset.
TEST(AlignedFleet, PaceShowsOneCourseForRanksThatRunInStep) {
  constexpr int64_t kShift = kOffset + kBucket / 4;
  RunBuilder run;
  for (int32_t r = 0; r < 2; ++r) {
    SourceBuilder& source = AddRankOver(run, r, r * kShift, r * kShift + 12 * kBucket);
    for (int64_t i = 0; i < 13; ++i) {
      const int64_t index = FloorIndex(r * kShift, kBucket) + i;
      IntervalMeasure measure;
      measure.span_ns = kBucket;
      measure.compute_ns = i < 6 ? kBucket : 0;
      measure.idle_other_ns = kBucket - measure.compute_ns;
      source.data().buckets.push_back({index, measure});
    }
  }
  FleetFixture fixture(run);
  SetOffset(fixture, kShift);
  const Pace pace = ComputePace(fixture.Make());
  ASSERT_EQ(pace.ranks.size(), 2U);
  EXPECT_EQ(pace.start_ns, 0);
  for (size_t i = 0; i < 5; ++i) EXPECT_DOUBLE_EQ(pace.ranks[1].compute[i], 1) << i;
  // Its grid lies a quarter of a bucket earlier: that much of the sixth bucket is already of the idle half.
  EXPECT_NEAR(pace.ranks[1].compute[5], 0.75, 0.01);
  EXPECT_DOUBLE_EQ(pace.ranks[0].compute[5], 1);
  EXPECT_DOUBLE_EQ(pace.ranks[1].compute[6], 0);
}

TEST(AlignedFleet, TheExposedWaitEndsAtTheAlignedArrival) {
  RunBuilder run;
  for (int32_t r = 0; r < 2; ++r) {
    SourceBuilder& source = run.AddRank(r);
    const uint32_t group = source.Group("0", {0, 1});
    source.Collective(group, CollectiveOp::kAllReduce, r * kOffset + 100, 300);
    StepRow& step = source.Step(0, r * kOffset, r * kOffset + 500);
    step.tile.comm_ns = 300;
    step.tile.idle_other_ns = 200;
  }
  FleetFixture fixture(run);
  SetOffset(fixture, kOffset);
  // Everybody waits for something that arrives at 250 on the aligned axis.
  fixture.match.arrivals.assign(2, {{.arrival_ns = 250, .usable = true, .resolved = true}});
  const FleetMeasures measures = fixture.Measure();
  for (const RankMeasures& rank : measures.ranks) {
    EXPECT_EQ(rank.by_step.at(0).wait_ns, 150);
    EXPECT_EQ(rank.by_step.at(0).transfer_ns, 150);
  }
}

TEST(GridTime, ClampsAbsurdIndices) {
  EXPECT_EQ(GridTime(3, 10), 30);
  EXPECT_EQ(GridTime(-3, 10), -30);
  EXPECT_GT(GridTime(INT64_MAX, 1'000), 0);
  EXPECT_LT(GridTime(INT64_MIN, 1'000), 0);
}

}  // namespace
}  // namespace lockstep
