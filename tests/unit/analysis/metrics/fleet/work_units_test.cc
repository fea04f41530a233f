#include "analysis/metrics/fleet/work_units.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

// As many launches of one kernel on each rank, with grids and durations of their own.
void AddLaunchingRank(RunBuilder& run, int32_t rank, int32_t blocks, int64_t duration_ns) {
  KernelRow& row = run.AddRank(rank).Kernel("gemm_kernel", std::vector<int64_t>(10, duration_ns));
  row.has_shape = true;
  row.shape = {{blocks, 1, 1}, {128, 1, 1}};
}

TEST(ComputeWork, AGridOfTwiceTheBlocksIsTwiceTheWork) {
  RunBuilder run;
  AddLaunchingRank(run, 0, 100, 1'000);
  AddLaunchingRank(run, 1, 200, 2'000);
  const FleetFixture fixture(run);
  const ComputeWork work = ComputeWorkOf(fixture.Make());
  EXPECT_DOUBLE_EQ(work.all.expected_ns[1], 2 * work.all.expected_ns[0]);
  EXPECT_DOUBLE_EQ(work.all.expected_ns[1], work.all.total_ns[1]) << "no slower than the other";
}

TEST(ComputeWork, EqualGridsAreEqualWorkHoweverLongTheyTake) {
  RunBuilder run;
  AddLaunchingRank(run, 0, 100, 1'000);
  AddLaunchingRank(run, 1, 100, 2'000);
  const FleetFixture fixture(run);
  const ComputeWork work = ComputeWorkOf(fixture.Make());
  EXPECT_DOUBLE_EQ(work.by_family.at("gemm").expected_ns[0], 15'000);
  EXPECT_DOUBLE_EQ(work.by_family.at("gemm").expected_ns[1], 15'000);
}

TEST(ComputeWork, CommunicationIsNone) {
  RunBuilder run;
  run.AddRank(0).Kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", {100}).kind =
      ClassifyKernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  const FleetFixture fixture(run);
  EXPECT_EQ(ComputeWorkOf(fixture.Make()).all.total_ns[0], 0);
}

MatchedInstance Instance(int64_t bytes, std::vector<std::pair<int64_t, int64_t>> durations_and_waits) {
  MatchedInstance instance;
  instance.kind = MatchKind::kId;
  instance.confidence = 1;
  instance.comparable = true;
  instance.bytes = bytes;
  for (const auto& [duration, wait] : durations_and_waits) {
    MatchedMember member;
    member.rank_index = static_cast<int32_t>(instance.members.size());
    member.end_ns = duration;
    member.wait_ns = wait;
    instance.members.push_back(member);
  }
  return instance;
}

TEST(CommunicationWork, LeavesWaitingOut) {
  RunBuilder run;
  run.AddRank(0);
  run.AddRank(1);
  FleetFixture fixture(run);
  fixture.match.instances = {Instance(64, {{500, 400}, {100, 0}})};
  const auto work = CommunicationWorkOf(fixture.Make(), fixture.Measure().joined);
  EXPECT_EQ(work[0].total_ns, 500);
  EXPECT_EQ(work[0].own_ns, 100);
  EXPECT_EQ(work[0].longest_wait_ns, 400);
  EXPECT_EQ(work[1].own_ns, 100);
  EXPECT_EQ(work[1].bytes, 64);
}

TEST(CommunicationWork, AMessageOfUnknownSizeIsSaid) {
  RunBuilder run;
  run.AddRank(0);
  run.AddRank(1);
  FleetFixture fixture(run);
  fixture.match.instances = {Instance(kUnknownBytes, {{500, 400}, {100, 0}})};
  EXPECT_FALSE(CommunicationWorkOf(fixture.Make(), fixture.Measure().joined)[0].all_sized);
}

}  // namespace
}  // namespace lockstep
