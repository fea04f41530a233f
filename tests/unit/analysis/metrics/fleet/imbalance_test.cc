#include "analysis/metrics/fleet/imbalance.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

// One step of 1,000 ns with so much compute in so many kernels, the rest idle.
void AddComputingRank(RunBuilder& run, int32_t rank, int64_t compute_ns, int64_t kernels) {
  auto& source = run.AddRank(rank);
  StepRow& step = source.Step(1, 0, 1'000);
  step.tile.compute_ns = compute_ns;
  step.tile.idle_other_ns = 1'000 - compute_ns;
  step.kernels = kernels;
  step.launches = kernels;
  source.Kernel("gemm_kernel", std::vector<int64_t>(static_cast<size_t>(kernels), compute_ns / kernels));
  source.Window(0, 1'000);
}

const Quantity* QuantityNamed(const Imbalance& imbalance, std::string_view name) {
  for (const Quantity& quantity : imbalance.quantities) {
    if (quantity.name == name) return &quantity;
  }
  return nullptr;
}

Imbalance ImbalanceOf(const RunBuilder& run) {
  FleetFixture fixture(run);
  const FleetMeasures measures = fixture.Measure();
  return ComputeImbalance(fixture.Make(), measures);
}

TEST(Imbalance, ComparesTheLargestWithTheMean) {
  RunBuilder run;
  AddComputingRank(run, 0, 400, 4);
  AddComputingRank(run, 1, 600, 4);
  const Imbalance imbalance = ImbalanceOf(run);
  const Quantity* compute = QuantityNamed(imbalance, "compute");
  ASSERT_NE(compute, nullptr);
  EXPECT_DOUBLE_EQ(*compute->max_over_mean, 1.2);
  EXPECT_DOUBLE_EQ(*compute->max_minus_min_over_max, 200.0 / 600);
  EXPECT_DOUBLE_EQ(*compute->cv, std::sqrt(2.0) * 100 / 500);
  EXPECT_EQ(compute->worst, 1u);
}

TEST(Imbalance, CallsARankSlowerThatTakesLongerForAsManyKernels) {
  RunBuilder run;
  AddComputingRank(run, 0, 400, 4);
  AddComputingRank(run, 1, 600, 4);
  EXPECT_EQ(QuantityNamed(ImbalanceOf(run), "compute")->kind, ImbalanceKind::kSlower);
}

TEST(Imbalance, CallsARankThatRunsMoreKernelsMoreWork) {
  RunBuilder run;
  AddComputingRank(run, 0, 400, 4);
  AddComputingRank(run, 1, 600, 6);
  EXPECT_EQ(QuantityNamed(ImbalanceOf(run), "compute")->kind, ImbalanceKind::kMoreWork);
}

// Two ranks that met nobody the other met: how long that took each, how long it waited, what it moved.
Imbalance Met(std::array<int64_t, 2> durations, std::array<int64_t, 2> waits, std::array<int64_t, 2> bytes) {
  RunBuilder run;
  for (const size_t rank : {0U, 1U}) {
    AddComputingRank(run, static_cast<int32_t>(rank), 400, 4);
    auto& source = run.Source(rank);
    source.data().steps.back().collectives = 1;
    source.data().steps.back().collective_time_ns = durations[rank];
  }
  FleetFixture fixture(run);
  for (const size_t rank : {0U, 1U}) {
    MatchedInstance instance;
    instance.confidence = 1;
    instance.comparable = true;
    instance.bytes = bytes[rank];
    instance.members = {{.rank_index = static_cast<int32_t>(rank), .end_ns = durations[rank], .wait_ns = waits[rank]},
                        {.rank_index = static_cast<int32_t>(rank)}};
    fixture.match.instances.push_back(instance);
  }
  const FleetMeasures measures = fixture.Measure();
  return ComputeImbalance(fixture.Make(), measures);
}

TEST(Imbalance, ARankWhoseCommunicationIsLongBecauseItWaitsIsNotSlower) {
  const Imbalance imbalance = Met({500, 100}, {400, 0}, {64, 64});
  const Quantity* total = QuantityNamed(imbalance, "nccl_total");
  EXPECT_TRUE(total->waits);
  EXPECT_EQ(total->kind, ImbalanceKind::kUnknown);
}

TEST(Imbalance, MoreBytesAreMoreWorkTheSameBytesInLongerTimeAreSlower) {
  const Imbalance more = Met({500, 100}, {0, 0}, {500, 100});
  EXPECT_EQ(QuantityNamed(more, "nccl_total")->kind, ImbalanceKind::kMoreWork);
  EXPECT_FALSE(QuantityNamed(more, "nccl_total")->waits);
  EXPECT_EQ(QuantityNamed(Met({500, 100}, {0, 0}, {64, 64}), "nccl_total")->kind, ImbalanceKind::kSlower);
}

TEST(Imbalance, OfLargerGridsIsMoreWork) {
  RunBuilder run;
  AddComputingRank(run, 0, 400, 4);
  AddComputingRank(run, 1, 600, 4);
  for (const size_t rank : {0U, 1U}) {
    KernelRow& row = run.Source(rank).data().kernels.back();
    row.has_shape = true;
    row.shape = {{rank == 0 ? 100 : 150, 1, 1}, {128, 1, 1}};
  }
  const Imbalance imbalance = ImbalanceOf(run);
  EXPECT_EQ(QuantityNamed(imbalance, "compute")->kind, ImbalanceKind::kMoreWork);
  EXPECT_EQ(QuantityNamed(imbalance, "family:gemm")->kind, ImbalanceKind::kMoreWork);
}

TEST(Imbalance, ListsThePhasesThatAnnotationsTell) {
  RunBuilder run;
  AddComputingRank(run, 0, 400, 4);
  EXPECT_EQ(QuantityNamed(ImbalanceOf(run), "phase:forward"), nullptr);
  run.Source(0).data().steps.back().forward_ns = 100;
  const Imbalance imbalance = ImbalanceOf(run);
  ASSERT_NE(QuantityNamed(imbalance, "phase:forward"), nullptr);
  EXPECT_DOUBLE_EQ(QuantityNamed(imbalance, "phase:forward")->values.at(0), 100);
  EXPECT_EQ(QuantityNamed(imbalance, "phase:backward"), nullptr);
}

TEST(Imbalance, NamesTheCauseOfAtLeastHalfOfTheIdleTimeOverTheMean) {
  RunBuilder run;
  AddComputingRank(run, 0, 800, 4);
  AddComputingRank(run, 1, 400, 4);
  EXPECT_EQ(QuantityNamed(ImbalanceOf(run), "idle")->idle_cause, IdleCause::kOther);
  IntervalMeasure& tile = run.Source(1).data().steps.back().tile;
  tile.idle_other_ns = 300;
  tile.idle_host_ns = 300;
  EXPECT_EQ(QuantityNamed(ImbalanceOf(run), "idle")->idle_cause, IdleCause::kHost);
  EXPECT_EQ(QuantityNamed(ImbalanceOf(run), "compute")->idle_cause, IdleCause::kUnknown);
}

TEST(Imbalance, OfIdleTimeThatIsTheSameOnAllRanksNoCauseIsNamed) {
  RunBuilder run;
  AddComputingRank(run, 0, 400, 4);
  AddComputingRank(run, 1, 400, 4);
  EXPECT_EQ(QuantityNamed(ImbalanceOf(run), "idle")->idle_cause, IdleCause::kUnknown);
}

TEST(Imbalance, GivesTheWorstOfEqualRanksAsTheLowest) {
  RunBuilder run;
  AddComputingRank(run, 3, 500, 5);
  AddComputingRank(run, 1, 500, 5);
  EXPECT_EQ(QuantityNamed(ImbalanceOf(run), "compute")->worst, 0u);
}

TEST(Imbalance, HasNoRatioWhereNothingHappened) {
  RunBuilder run;
  AddComputingRank(run, 0, 400, 4);
  const Imbalance imbalance = ImbalanceOf(run);
  const Quantity* copy = QuantityNamed(imbalance, "copy");
  ASSERT_NE(copy, nullptr);
  EXPECT_FALSE(copy->max_over_mean.has_value());
  EXPECT_FALSE(copy->worst.has_value());
}

TEST(Imbalance, ListsEveryFamilyOverTheWholeCapture) {
  RunBuilder run;
  AddComputingRank(run, 0, 400, 4);
  const Imbalance imbalance = ImbalanceOf(run);
  const Quantity* gemm = QuantityNamed(imbalance, "family:gemm");
  ASSERT_NE(gemm, nullptr);
  EXPECT_FALSE(gemm->over_window);
  EXPECT_DOUBLE_EQ(gemm->values.at(0), 400);
}

TEST(Efficiency, ParallelIsLoadBalanceTimesCommunication) {
  RunBuilder run;
  AddComputingRank(run, 0, 400, 4);
  AddComputingRank(run, 1, 600, 4);
  AddComputingRank(run, 2, 100, 1);
  const Efficiency e = ImbalanceOf(run).efficiency;
  EXPECT_EQ(e.window_ns, 1'000);
  EXPECT_NEAR(*e.parallel, *e.load_balance * *e.communication, 1e-12);
  EXPECT_DOUBLE_EQ(*e.communication, 0.6);
}

TEST(Efficiency, CommunicationIsBusyShareTimesOrchestration) {
  RunBuilder run;
  AddComputingRank(run, 0, 400, 4);
  AddComputingRank(run, 1, 600, 4);
  const Efficiency e = ImbalanceOf(run).efficiency;
  EXPECT_NEAR(*e.communication, *e.busy_share * *e.orchestration, 1e-12);
}

TEST(Efficiency, WithAReplayCommunicationIsSerialisationTimesTransfer) {
  RunBuilder run;
  AddComputingRank(run, 0, 400, 4);
  AddComputingRank(run, 1, 600, 4);
  Efficiency e = ImbalanceOf(run).efficiency;
  EXPECT_FALSE(e.serialisation.has_value());
  SetIdealTime(0.8, e);
  EXPECT_DOUBLE_EQ(*e.transfer, 0.8);
  EXPECT_DOUBLE_EQ(*e.serialisation, 0.75);
  EXPECT_NEAR(*e.communication, *e.serialisation * *e.transfer, 1e-12);
}

TEST(Efficiency, AReplayShorterThanTheWorkOfARankTellsNothing) {
  RunBuilder run;
  AddComputingRank(run, 0, 400, 4);
  AddComputingRank(run, 1, 600, 4);
  Efficiency e = ImbalanceOf(run).efficiency;
  SetIdealTime(0.59, e);
  EXPECT_FALSE(e.serialisation.has_value());
  EXPECT_FALSE(e.transfer.has_value());
  SetIdealTime(0.6, e);
  EXPECT_DOUBLE_EQ(*e.serialisation, 1);
}

TEST(Efficiency, AReplayThatTakesLongerThanTheRunTellsNothing) {
  RunBuilder run;
  AddComputingRank(run, 0, 400, 4);
  Efficiency e = ImbalanceOf(run).efficiency;
  for (const double ratio : {1.1, 0.0, -1.0, std::nan("")}) {
    SetIdealTime(ratio, e);
    EXPECT_FALSE(e.transfer.has_value()) << ratio;
    EXPECT_FALSE(e.serialisation.has_value()) << ratio;
  }
}

}  // namespace
}  // namespace lockstep
