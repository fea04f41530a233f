#include "analysis/metrics/kernels/kernel_pace.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

TEST(KernelPace, TellsHowOftenAndHowLongAKernelRanInEachSlice) {
  RunBuilder run;
  SourceBuilder& rank = run.AddRank(0);
  KernelRow& row = rank.Kernel("gemm_kernel", {100, 200});
  row.slices.emplace_back(3, Sketch{});
  row.slices.back().second.Add(400);
  rank.Kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", {10'000});
  rank.context().slice_ns = 1'024;
  rank.Window(0, 4'096);
  const FleetFixture fixture(run);
  const auto paces = ComputeKernelPace(fixture.Make());
  ASSERT_TRUE(paces.ok());
  ASSERT_EQ(paces->size(), 1U) << "communication has no pace of its own";
  const std::vector<KernelPaceSlice>& slices = paces->front().ranks.at(0).slices;
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0].instances, 2);
  EXPECT_DOUBLE_EQ(slices[0].mean_ns, 150);
  EXPECT_EQ(slices[1].start_ns, 3 * 1'024);
  EXPECT_DOUBLE_EQ(slices[1].mean_ns, 400);
}

TEST(KernelPace, IsOfTheKernelsThatWereAskedFor) {
  RunBuilder run;
  SourceBuilder& rank = run.AddRank(0);
  rank.context().slice_ns = 1'024;
  for (const char* name : {"a_gemm", "b_gemm"}) rank.Kernel(name, {100});
  AnalysisOptions asked;
  asked.kernels = "b_";
  const FleetFixture fixture(run, asked);
  const auto paces = ComputeKernelPace(fixture.Make());
  ASSERT_TRUE(paces.ok());
  ASSERT_EQ(paces->size(), 1U);
  EXPECT_EQ(paces->front().name, "b_gemm");
}

}  // namespace
}  // namespace lockstep
