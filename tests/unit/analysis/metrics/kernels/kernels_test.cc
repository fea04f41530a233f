#include "analysis/metrics/kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

const KernelGroup* GroupNamed(const KernelSummary& table, std::string_view name) {
  for (const KernelGroup& group : table.groups) {
    if (group.name == name) return &group;
  }
  return nullptr;
}

std::vector<int64_t> RandomDurations(std::mt19937& random, size_t n) {
  std::vector<int64_t> durations(n);
  for (int64_t& d : durations) d = std::uniform_int_distribution<int64_t>(1, 5'000)(random);
  return durations;
}

TEST(Kernels, FleetFiguresEqualThoseOfTheSortedRawDurations) {
  std::mt19937 random(3);
  const std::vector<int64_t> first = RandomDurations(random, 311);
  const std::vector<int64_t> second = RandomDurations(random, 97);
  RunBuilder run;
  run.AddRank(0).Kernel("gemm", first);
  run.AddRank(1).Kernel("gemm", second);
  const FleetFixture fixture(run);
  const auto table = ComputeKernels(fixture.Make(), GroupBy::kFull);
  ASSERT_TRUE(table.ok());
  std::vector<int64_t> all = first;
  all.insert(all.end(), second.begin(), second.end());
  std::sort(all.begin(), all.end());
  const KernelGroup& group = table->groups.at(0);
  EXPECT_EQ(group.instances, 408);
  EXPECT_EQ(group.total_ns, std::accumulate(all.begin(), all.end(), int64_t{0}));
  EXPECT_EQ(group.durations.Quantile(0.5)->value, all[203]);
  EXPECT_EQ(group.durations.Quantile(0.99)->value, all[403]);
  EXPECT_EQ(group.by_rank.at(1).durations.max(), *std::max_element(second.begin(), second.end()));
}

TEST(Kernels, AreSortedByTotalThenByName) {
  RunBuilder run;
  auto& rank = run.AddRank(0);
  rank.Kernel("b", {5});
  rank.Kernel("c", {9});
  rank.Kernel("a", {5});
  const FleetFixture fixture(run);
  const auto table = ComputeKernels(fixture.Make(), GroupBy::kFull);
  ASSERT_TRUE(table.ok());
  std::vector<std::string> names;
  for (const KernelGroup& group : table->groups) names.push_back(group.name);
  EXPECT_EQ(names, (std::vector<std::string>{"c", "a", "b"}));
}

TEST(Kernels, ThatPassThePatternAreTheOnlyOnes) {
  RunBuilder run;
  auto& rank = run.AddRank(0);
  rank.Kernel("void gemm_f16(int)", {5});
  rank.Kernel("softmax", {9});
  AnalysisOptions options;
  options.kernels = "^void gemm.*16";
  const FleetFixture fixture(run, options);
  const auto table = ComputeKernels(fixture.Make(), GroupBy::kFull);
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->groups.size(), 1u);
  EXPECT_EQ(table->groups[0].name, "void gemm_f16(int)");
}

TEST(Kernels, RefuseABrokenPatternWithAMessage) {
  RunBuilder run;
  run.AddRank(0).Kernel("a", {1});
  AnalysisOptions options;
  options.kernels = "gemm(";
  const FleetFixture fixture(run, options);
  const auto table = ComputeKernels(fixture.Make(), GroupBy::kFull);
  ASSERT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(table.status().message()).find("gemm("), std::string::npos);
}

TEST(Kernels, MatchAPatternThatBacktracksWithoutHanging) {
  RunBuilder run;
  run.AddRank(0).Kernel(std::string(4'000, 'a') + "b", {1});
  AnalysisOptions options;
  options.kernels = "^(a+)+$";
  const FleetFixture fixture(run, options);
  const auto table = ComputeKernels(fixture.Make(), GroupBy::kFull);
  ASSERT_TRUE(table.ok());
  EXPECT_TRUE(table->groups.empty());
}

TEST(Kernels, GroupedByShapeKeepLaunchShapesApart) {
  RunBuilder run;
  auto& rank = run.AddRank(0);
  for (const int32_t grid : {1, 2}) {
    KernelRow& row = rank.Kernel("gemm", {grid});
    row.has_shape = true;
    row.shape.grid[0] = grid;
  }
  const FleetFixture fixture(run);
  const auto by_shape = ComputeKernels(fixture.Make(), GroupBy::kShape);
  const auto by_name = ComputeKernels(fixture.Make(), GroupBy::kFull);
  ASSERT_TRUE(by_shape.ok() && by_name.ok());
  EXPECT_EQ(by_shape->groups.size(), 2u);
  EXPECT_EQ(by_name->groups.size(), 1u);
}

TEST(Kernels, SelectedByStepsGiveExactTotalsForTheNamesKeptPerStep) {
  RunBuilder run;
  auto& rank = run.AddRank(0);
  rank.Step(1, 0, 100);
  rank.Step(2, 100, 200);
  rank.Kernel("gemm", {10, 20, 30});
  const uint32_t gemm = run.Name("gemm");
  rank.data().step_kernels = {{1, gemm, 1, 10}, {2, gemm, 2, 50}};
  AnalysisOptions options;
  options.steps = {2, 2};
  const FleetFixture fixture(run, options);
  const auto table = ComputeKernels(fixture.Make(), GroupBy::kFull);
  ASSERT_TRUE(table.ok());
  const KernelGroup* group = GroupNamed(*table, "gemm");
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->instances, 2);
  EXPECT_EQ(group->total_ns, 50);
  EXPECT_FALSE(group->complete);
  EXPECT_TRUE(group->durations.empty());
}

TEST(Kernels, SelectedByTimeAreSnappedOutwardToSlices) {
  RunBuilder run;
  auto& rank = run.AddRank(0);
  rank.context().slice_ns = 64;
  rank.Window(0, 192);
  KernelRow& row = rank.Kernel("gemm", {1});
  row.slices.clear();
  for (int64_t slice = 0; slice < 3; ++slice) {
    row.slices.emplace_back(slice, Sketch());
    row.slices.back().second.Add(10 + slice);
  }
  AnalysisOptions options;
  options.time_ns = {70, 128};
  const FleetFixture fixture(run, options);
  const auto table = ComputeKernels(fixture.Make(), GroupBy::kFull);
  ASSERT_TRUE(table.ok());
  EXPECT_TRUE(table->by_slice);
  EXPECT_EQ(table->groups.at(0).total_ns, 11);
}

// What was asked for of three slices of two ranks, one of whose names is kept per step.
void ExpectTotalsWithoutDistributions(const AnalysisOptions& options) {
  RunBuilder run;
  for (const int32_t number : {0, 1}) {
    auto& rank = run.AddRank(number);
    rank.context().slice_ns = 64;
    rank.Window(0, 192);
    rank.Step(1, 0, 100);
    rank.Step(2, 100, 200);
    rank.Kernel("kept", {10, 20, 30 + number});
    rank.data().step_kernels = {{1, run.Name("kept"), 1, 10}, {2, run.Name("kept"), 2, 50 + number}};
    KernelRow& row = rank.Kernel("sliced", {1});
    row.slices.clear();
    for (int64_t slice = 0; slice < 3; ++slice) {
      row.slices.emplace_back(slice, Sketch());
      row.slices.back().second.Add(10 + slice + number, 1 + slice);
    }
  }
  const FleetFixture fixture(run, options);
  const auto with = ComputeKernels(fixture.Make(), GroupBy::kFull);
  const auto without = ComputeKernels(fixture.Make(), GroupBy::kFull, StepFigures::kTotals);
  ASSERT_TRUE(with.ok() && without.ok());
  EXPECT_EQ(without->total_ns, with->total_ns);
  EXPECT_EQ(without->by_slice, with->by_slice);
  EXPECT_EQ(without->without_distribution, with->without_distribution);
  ASSERT_EQ(without->groups.size(), with->groups.size());
  for (size_t i = 0; i < with->groups.size(); ++i) {
    const KernelGroup& group = without->groups[i];
    const KernelGroup& same = with->groups[i];
    EXPECT_EQ(group.name, same.name);
    EXPECT_EQ(group.instances, same.instances);
    EXPECT_EQ(group.total_ns, same.total_ns);
    EXPECT_EQ(group.complete, same.complete);
    EXPECT_EQ(group.rows.size(), same.rows.size());
    EXPECT_TRUE(group.durations.empty());
    ASSERT_EQ(group.by_rank.size(), same.by_rank.size());
    for (size_t r = 0; r < same.by_rank.size(); ++r) EXPECT_EQ(group.by_rank[r].total_ns, same.by_rank[r].total_ns);
  }
}

TEST(Kernels, TotalsAloneAreThoseThatStandBesideDistributions) {
  ExpectTotalsWithoutDistributions({});
  ExpectTotalsWithoutDistributions({.steps = std::pair<int64_t, int64_t>{2, 2}});
  ExpectTotalsWithoutDistributions({.time_ns = std::pair<int64_t, int64_t>{70, 128}});
}

TEST(SlowestRank, NeedsTenInstancesWhereAnyRankHasThem) {
  RunBuilder run;
  run.AddRank(0).Kernel("gemm", std::vector<int64_t>(10, 100));
  run.AddRank(1).Kernel("gemm", std::vector<int64_t>(10, 110));
  run.AddRank(2).Kernel("gemm", {999});
  const FleetFixture fixture(run);
  const auto table = ComputeKernels(fixture.Make(), GroupBy::kFull);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(SlowestRank(table->groups.at(0)), 1u);
}

TEST(RankImbalance, IsTheExcessOfTheLargestTotalOverTheMean) {
  RunBuilder run;
  run.AddRank(0).Kernel("gemm", {100});
  run.AddRank(1).Kernel("gemm", {200});
  const FleetFixture fixture(run);
  const auto table = ComputeKernels(fixture.Make(), GroupBy::kFull);
  ASSERT_TRUE(table.ok());
  EXPECT_DOUBLE_EQ(RankImbalance(table->groups.at(0)), 200.0 / 150.0 - 1);
}

TEST(TailScore, SumsWhatLongInstancesTakeBeyondTheMedian) {
  Sketch durations;
  durations.Add(100, 9);
  durations.Add(200);
  durations.Add(450);
  const auto score = ComputeTailScore(durations, 1'000);
  ASSERT_TRUE(score.has_value());
  EXPECT_DOUBLE_EQ(score->value, 0.35);  // 200 is not longer than twice the median
}

}  // namespace
}  // namespace lockstep
