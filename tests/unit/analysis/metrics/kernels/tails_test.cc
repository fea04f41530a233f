#include "analysis/metrics/kernels/tails.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

// 200 short instances on each of two ranks and `outliers` long ones on rank 1.
void AddTail(RunBuilder& run, int outliers) {
  run.AddRank(0).Host("alpha").Kernel("gemm", std::vector<int64_t>(200, 100));
  std::vector<int64_t> durations(200, 100);
  durations.insert(durations.end(), static_cast<size_t>(outliers), 1'000);
  run.AddRank(1).Host("beta").Kernel("gemm", durations);
  run.AddRank(2).Kernel("steady", std::vector<int64_t>(50, 10));
}

std::vector<TailRow> TailsOf(FleetFixture& fixture, int64_t rank_time_ns) {
  FleetMeasures measures = fixture.Measure();
  measures.ranks[0].selected.span_ns = rank_time_ns;
  const Fleet fleet = fixture.Make();
  const auto table = ComputeKernels(fleet, GroupBy::kFull, StepFigures::kDistributions);
  return ComputeTails(fleet, measures, *table);
}

TEST(Tails, ListOnlyKernelsThatLoseTimeInLongInstances) {
  RunBuilder run;
  AddTail(run, 3);
  FleetFixture fixture(run);
  const auto tails = TailsOf(fixture, 100'000);
  ASSERT_EQ(tails.size(), 1u);
  EXPECT_EQ(tails[0].name, "gemm");
  EXPECT_DOUBLE_EQ(tails[0].score.value, 3 * 900 / 100'000.0);
}

TEST(Tails, GiveTheWholeTailToTheRankAndHostThatHaveIt) {
  RunBuilder run;
  AddTail(run, 3);
  FleetFixture fixture(run);
  const auto tails = TailsOf(fixture, 100'000);
  ASSERT_EQ(tails.size(), 1u);
  EXPECT_EQ(tails[0].above, 3);
  EXPECT_EQ(tails[0].by_rank.at(0).above, 0);
  EXPECT_EQ(tails[0].by_rank.at(1).above, 3);
  EXPECT_EQ(tails[0].by_host.at(1).label, "beta");
  EXPECT_EQ(tails[0].by_host.at(1).above, 3);
  EXPECT_EQ(WorstRank(tails[0]), 1u);
}

TEST(Tails, NameTheWorstRankEvenWhenNothingLiesAboveTheP99Bucket) {
  RunBuilder run;
  AddTail(run, 5);  // 5 of 405: the p99 itself is an outlier
  FleetFixture fixture(run);
  const auto tails = TailsOf(fixture, 100'000);
  ASSERT_EQ(tails.size(), 1u);
  EXPECT_EQ(tails[0].above, 0);
  EXPECT_EQ(WorstRank(tails[0]), 1u);
}

TEST(Tails, PartsOfTheRanksSumToTheScore) {
  RunBuilder run;
  AddTail(run, 3);
  FleetFixture fixture(run);
  const auto tails = TailsOf(fixture, 100'000);
  ASSERT_EQ(tails.size(), 1u);
  int64_t sum = 0;
  for (const TailPart& part : tails[0].by_rank) sum += part.excess_ns;
  EXPECT_EQ(sum, 2'700);
}

TEST(Tails, ShowTheLongestInstancesOfAllRanks) {
  RunBuilder run;
  auto& rank0 = run.AddRank(0);
  rank0.Kernel("gemm", {100, 100, 900}).longest = {{50, 900, kNoStep}, {10, 100, kNoStep}};
  auto& rank1 = run.AddRank(1);
  rank1.Kernel("gemm", {100, 100, 950}).longest = {{40, 950, 7}};
  FleetFixture fixture(run);
  const auto tails = TailsOf(fixture, 10'000);
  ASSERT_EQ(tails.size(), 1u);
  ASSERT_EQ(tails[0].exemplars.size(), 3u);
  EXPECT_EQ(tails[0].exemplars[0].member, 1u);
  EXPECT_EQ(tails[0].exemplars[0].instance.step, 7);
  EXPECT_EQ(tails[0].exemplars[1].instance.duration_ns, 900);
}

TEST(Tails, PutSlicesOfDifferentWidthOnTheCoarsestGrid) {
  RunBuilder run;
  for (const int32_t rank : {0, 1}) {
    auto& source = run.AddRank(rank);
    source.context().slice_ns = rank == 0 ? 64 : 256;
    KernelRow& row = source.Kernel("gemm", {});
    row.slices.clear();
    row.slices.emplace_back(rank == 0 ? 5 : 1, Sketch());
    row.slices.back().second.Add(100, 5);
    row.slices.back().second.Add(1'000);
  }
  FleetFixture fixture(run);
  const auto tails = TailsOf(fixture, 10'000);
  ASSERT_EQ(tails.size(), 1u);
  ASSERT_EQ(tails[0].by_slice.size(), 1u);
  EXPECT_EQ(tails[0].by_slice[0].start_ns, 256);
  EXPECT_EQ(tails[0].by_slice[0].durations.count(), 12);
}

TEST(Tails, GroupedByShapeKeepTheSlicesOfEachShapeApart) {
  RunBuilder run;
  auto& rank = run.AddRank(0);
  for (const int32_t grid : {1, 2}) {
    KernelRow& row = rank.Kernel("gemm", {100, 100, 100 * grid, 900 * grid});
    row.has_shape = true;
    row.shape.grid[0] = grid;
  }
  FleetFixture fixture(run);
  const Fleet fleet = fixture.Make();
  FleetMeasures measures = fixture.Measure();
  measures.ranks[0].selected.span_ns = 10'000;
  const auto table = ComputeKernels(fleet, GroupBy::kShape, StepFigures::kDistributions);
  const auto tails = ComputeTails(fleet, measures, *table);
  ASSERT_EQ(tails.size(), 2u);
  for (const TailRow& row : tails) EXPECT_EQ(row.by_slice.at(0).durations, row.durations);
}

TEST(Tails, OfCollectivesSplitIntoWaitAndTransfer) {
  RunBuilder run;
  for (const int32_t rank : {0, 1}) {
    auto& source = run.AddRank(rank);
    const uint32_t world = source.Group("0", {0, 1});
    source.Collective(world, CollectiveOp::kAllReduce, rank * 30, 100 - rank * 30, "ncclDevKernel_AllReduce");
    source.Kernel("ncclDevKernel_AllReduce", {10, 10, 100 - rank * 30});
    source.Step(1, 0, 100);
  }
  FleetFixture fixture(run);
  MatchedInstance instance;
  instance.kind = MatchKind::kOrder;
  instance.confidence = 1;
  instance.comparable = true;
  instance.transfer_ns = 70;
  instance.members = {{0, 0, 0, 100, 30, 30, 0}, {1, 0, 30, 100, 30, 0, 0}};
  fixture.match.instances = {instance};
  fixture.match.arrivals = {{{true, 30, true}}, {{true, 30, true}}};
  const auto tails = TailsOf(fixture, 10'000);
  ASSERT_EQ(tails.size(), 1u);
  EXPECT_EQ(tails[0].wait.count(), 2);
  EXPECT_EQ(tails[0].wait.sum(), 30);
  EXPECT_EQ(tails[0].transfer.count(), 1);
  EXPECT_EQ(tails[0].transfer.sum(), 70);
}

}  // namespace
}  // namespace lockstep
