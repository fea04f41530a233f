#include "analysis/metrics/fleet/steps.h"

#include <gtest/gtest.h>

#include "analysis/metrics/fleet/pace.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"
#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

TEST(Steps, SplitExposedCommunicationExactly) {
  RunBuilder run;
  auto& rank = run.AddRank(0);
  const uint32_t world = rank.Group("0", {0, 1});
  InstanceRow& instance = rank.Collective(world, CollectiveOp::kAllReduce, 50, 100);
  instance.cover = {{10, 20}};  // compute in [60, 80)
  StepRow& first = rank.Step(1, 0, 100);
  first.tile.comm_ns = 50;
  first.tile.overlap_ns = 20;
  rank.Step(2, 100, 200).tile.comm_ns = 50;
  FleetFixture fixture(run);
  fixture.match.arrivals = {{{120, true, true}}};
  const FleetMeasures measures = fixture.Measure();
  const auto steps = ComputeSteps(fixture.Make(), measures);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].exposure, (Exposure{30, 0, 0}));
  EXPECT_EQ(steps[1].exposure, (Exposure{20, 30, 0}));
}

TEST(Steps, OfAnUnmatchedRankAreUnresolved) {
  RunBuilder run;
  auto& rank = run.AddRank(0);
  rank.Collective(rank.UnknownGroup(), CollectiveOp::kAllReduce, 0, 40);
  rank.Step(1, 0, 100).tile.comm_ns = 40;
  FleetFixture fixture(run);
  const FleetMeasures measures = fixture.Measure();
  EXPECT_EQ(ComputeSteps(fixture.Make(), measures).at(0).exposure, (Exposure{0, 0, 40}));
}

TEST(Steps, LeaveOutWhatRanBeforeTheFirst) {
  RunBuilder run;
  auto& rank = run.AddRank(0);
  rank.Step(kNoStep, 0, 10);
  rank.Step(4, 10, 20);
  FleetFixture fixture(run);
  const FleetMeasures measures = fixture.Measure();
  const auto steps = ComputeSteps(fixture.Make(), measures);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].row->step, 4);
}

IntervalMeasure Measure(int64_t compute, int64_t comm, int64_t host) {
  IntervalMeasure m;
  m.compute_ns = compute;
  m.comm_ns = comm;
  m.idle_host_ns = host;
  m.idle_other_ns = 100 - compute - comm - host;
  m.span_ns = 100;
  return m;
}

TEST(StepVerdict, IsTheLargestPartAboveAThird) {
  EXPECT_EQ(VerdictOf(Measure(60, 30, 10)), StepVerdict::kGpu);
  EXPECT_EQ(VerdictOf(Measure(30, 60, 10)), StepVerdict::kCommunication);
  EXPECT_EQ(VerdictOf(Measure(20, 10, 70)), StepVerdict::kHost);
  EXPECT_EQ(VerdictOf(Measure(30, 30, 30)), StepVerdict::kNone);
}

TEST(Pace, HasAtMost256BucketsOnTheCommonGrid) {
  RunBuilder run;
  for (const int32_t number : {0, 1}) {
    auto& rank = run.AddRank(number);
    rank.Kernel("k", {1});
    rank.Window(1, 4'000);
    rank.context().bucket_ns = number == 0 ? 4 : 8;
    for (int64_t i = 0; i * rank.context().bucket_ns < 4'000; ++i) {
      BucketRow row;
      row.index = i;
      row.measure.span_ns = rank.context().bucket_ns;
      row.measure.compute_ns = rank.context().bucket_ns / 2;
      row.measure.idle_other_ns = rank.context().bucket_ns / 2;
      rank.data().buckets.push_back(row);
    }
  }
  const FleetFixture fixture(run);
  const Pace pace = ComputePace(fixture.Make());
  EXPECT_EQ(pace.bucket_ns, 16);
  ASSERT_EQ(pace.ranks.size(), 2u);
  EXPECT_LE(pace.ranks[0].compute.size(), 256u);
  for (const PaceOfRank& rank : pace.ranks) {
    for (const double ratio : rank.compute) EXPECT_DOUBLE_EQ(ratio, 0.5);
  }
}

TEST(Pace, CountsTheStepsDoneByTheEndOfEachBucket) {
  RunBuilder run;
  auto& rank = run.AddRank(0);
  rank.Kernel("k", {1});
  rank.Window(0, 4'096);
  rank.context().bucket_ns = 1'024;
  rank.Step(kNoStep, 0, 512);
  rank.Step(0, 512, 1'024);
  rank.Step(1, 1'024, 3'072);
  rank.Step(2, 3'072, 4'096);
  const FleetFixture fixture(run);
  EXPECT_EQ(ComputePace(fixture.Make()).ranks.at(0).steps_done, (std::vector<double>{1, 1.5, 2, 3}));
}

}  // namespace
}  // namespace lockstep
