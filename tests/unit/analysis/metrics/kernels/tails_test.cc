#include "analysis/metrics/kernels/tails.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/model/row_values.h"
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

TEST(Tails, OfSlicesThatReachBeyondWhatWasAskedForAreSharesOfTheirTime) {
  RunBuilder run;
  auto& rank = run.AddRank(0);
  rank.context().slice_ns = 1'024;
  rank.Window(100, 5'000);
  rank.Kernel("gemm", {100, 100, 100, 500});
  AnalysisOptions options;
  options.time_ns = {0, 10};  // touches the slice [0, 1024), of which [100, 1024) lies in the capture
  FleetFixture fixture(run, options);
  const auto tails = TailsOf(fixture, 10);
  ASSERT_EQ(tails.size(), 1u);
  EXPECT_DOUBLE_EQ(tails[0].score.value, 400 / 924.0);
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

// 1,000 instances of 100 ns on each of two ranks, and the long ones that are given as (duration, step).
SourceBuilder& AddLong(RunBuilder& run, int32_t rank, std::string_view phase,
                       std::vector<std::pair<int64_t, int64_t>> longest) {
  std::vector<int64_t> durations(1'000, 100);
  for (const auto& [duration, step] : longest) durations.push_back(duration);
  SourceBuilder& source = run.AddRank(rank);
  KernelRow& row = source.Kernel("gemm", durations);
  row.phase = phase;
  std::sort(longest.rbegin(), longest.rend());
  for (const auto& [duration, step] : longest) row.longest.push_back({10, duration, step});
  row.longest.push_back({10, 100, 3});  // no part of the tail
  return source;
}

TEST(Tails, TellTheStepsOfTheLongInstancesMostFirst) {
  RunBuilder run;
  AddLong(run, 0, "", {{900, 4}, {910, 4}, {920, 9}});
  AddLong(run, 1, "", {{930, 4}, {940, 9}, {950, kNoStep}});
  FleetFixture fixture(run);
  const auto tails = TailsOf(fixture, 10'000);
  ASSERT_EQ(tails.size(), 1u);
  ASSERT_EQ(tails[0].by_step.size(), 3u);
  EXPECT_EQ(tails[0].by_step[0].step, 4);
  EXPECT_EQ(tails[0].by_step[0].above, 3);
  EXPECT_EQ(tails[0].by_step[1].step, 9);
  EXPECT_EQ(tails[0].by_step[1].above, 2);
  EXPECT_EQ(tails[0].by_step[2].step, kNoStep);
  EXPECT_EQ(tails[0].above_of_known_step, 6);
  EXPECT_EQ(tails[0].above, 6);
}

TEST(Tails, SayHowManyLongInstancesHaveNoKnownStep) {
  RunBuilder run;
  AddLong(run, 0, "", {{900, 4}, {910, 4}, {920, 9}});
  run.AddRank(1).Kernel("gemm", {100, 100, 800, 810}).longest = {{10, 810, 4}};
  FleetFixture fixture(run);
  const auto tails = TailsOf(fixture, 10'000);
  ASSERT_EQ(tails.size(), 1u);
  EXPECT_EQ(tails[0].above, 5);
  EXPECT_EQ(tails[0].above_of_known_step, 4);
}

TEST(Tails, TakeThePhaseFromTheStepWhereTheKernelsDoNotTellIt) {
  RunBuilder run;
  SourceBuilder& rank = AddLong(run, 0, "", {{900, 4}, {910, 4}, {920, 9}});
  rank.Step(4, 0, 10).phase = "prefill";
  rank.Step(9, 10, 20).phase = "decode";
  AddLong(run, 1, "decode", {{930, 4}});
  FleetFixture fixture(run);
  const auto tails = TailsOf(fixture, 10'000);
  ASSERT_EQ(tails.size(), 1u);
  ASSERT_EQ(tails[0].by_phase.size(), 2u);
  EXPECT_EQ(tails[0].by_phase[0].label, "decode");
  EXPECT_EQ(tails[0].by_phase[0].above, 2);
  EXPECT_EQ(tails[0].by_phase[1].label, "prefill");
  EXPECT_EQ(tails[0].by_phase[1].above, 2);
  EXPECT_TRUE(tails[0].by_phase[1].durations.empty());
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
  EXPECT_EQ(tails[0].by_slice[0].excess_ns, 2 * 900);
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
  for (const TailRow& row : tails)
    EXPECT_DOUBLE_EQ(static_cast<double>(row.by_slice.at(0).excess_ns) / 10'000, row.score.value);
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
  fixture.match.arrivals = {{{30, true, true}}, {{30, true, true}}};
  const auto tails = TailsOf(fixture, 10'000);
  ASSERT_EQ(tails.size(), 1u);
  EXPECT_EQ(tails[0].wait.count(), 2);
  EXPECT_EQ(tails[0].wait.sum(), 30);
  EXPECT_EQ(tails[0].transfer.count(), 1);
  EXPECT_EQ(tails[0].transfer.sum(), 70);
}

}  // namespace
}  // namespace lockstep
