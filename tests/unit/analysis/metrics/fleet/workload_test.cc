#include "analysis/metrics/fleet/workload.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

// One rank over 100 us: percent of it computing, communicating, idle for the host; kernel time by two families.
Workload WorkloadOf(int64_t compute, int64_t communication, int64_t host, int64_t gemm = 1'000, int64_t norm = 0) {
  RunBuilder run;
  SourceBuilder& rank = run.AddRank(0);
  StepRow& step = rank.Step(1, 0, 100'000);
  step.tile.compute_ns = 1'000 * compute;
  step.tile.comm_ns = 1'000 * communication;
  step.tile.idle_host_ns = 1'000 * host;
  step.tile.idle_other_ns = 1'000 * (100 - compute - communication - host);
  if (gemm > 0) rank.Kernel("gemm_kernel", {gemm});
  if (norm > 0) rank.Kernel("rms_norm_kernel", {norm});
  FleetFixture fixture(run);
  const FleetMeasures measures = fixture.Measure();
  return ComputeWorkload(fixture.Make(), measures);
}

TEST(Workload, IsWhatTakesMostOfTheTime) {
  EXPECT_EQ(WorkloadOf(80, 10, 10).kind, WorkloadClass::kCompute);
  EXPECT_EQ(WorkloadOf(30, 60, 10).kind, WorkloadClass::kCommunication);
  EXPECT_EQ(WorkloadOf(30, 10, 60).kind, WorkloadClass::kOverhead);
}

TEST(Workload, IsBoundByMemoryWhereMostKernelsMoveIt) {
  EXPECT_EQ(WorkloadOf(80, 10, 10, 400, 600).kind, WorkloadClass::kMemory);
  EXPECT_EQ(WorkloadOf(80, 10, 10, 600, 400).kind, WorkloadClass::kCompute);
  EXPECT_DOUBLE_EQ(*WorkloadOf(80, 10, 10, 600, 400).memory, 0.4);
}

TEST(Workload, IsNotToldWhereNoShareLeads) {
  EXPECT_EQ(WorkloadOf(45, 44, 3).kind, WorkloadClass::kUnknown) << "within the noise of each other";
  EXPECT_EQ(WorkloadOf(30, 20, 20).kind, WorkloadClass::kUnknown) << "nothing takes a third";
  EXPECT_EQ(WorkloadOf(90, 0, 0, 0, 0).kind, WorkloadClass::kUnknown) << "no kernel tells what the work is";
}

}  // namespace
}  // namespace lockstep
