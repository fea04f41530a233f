#include "analysis/metrics/findings/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two ranks of ten steps of 10 ms that are busy computing all the time; a test changes what it is about.
struct Quiet {
  Quiet() {
    for (int32_t r = 0; r < 2; ++r) {
      auto& rank = run.AddRank(r);
      ranks.push_back(&rank);
      rank.Kernel("gemm_kernel", std::vector<int64_t>(100, kMs));
      for (int64_t step = 0; step < 10; ++step) {
        StepRow& row = rank.Step(step, step * 10 * kMs, (step + 1) * 10 * kMs);
        row.tile.compute_ns = 10 * kMs;
        row.sync_calls = 1;
        row.sync_ns = kMs;
      }
      rank.Window(0, 100 * kMs);
    }
  }
  template <typename Change>
  void EachStep(Change change) {
    for (SourceBuilder* rank : ranks) {
      for (StepRow& row : rank->data().steps) change(row);
    }
  }
  // Turns this much of every step's compute into idle for the host.
  void Idle(int64_t ns) {
    EachStep([&](StepRow& row) {
      row.tile.compute_ns -= ns;
      row.tile.idle_host_ns += ns;
    });
  }

  std::vector<Finding> Find() {
    FleetFixture fixture(run);
    const FleetMeasures measures = fixture.Measure();
    const Fleet fleet = fixture.Make();
    const auto kernels = ComputeKernels(fleet, GroupBy::kShape, StepFigures::kDistributions);
    EXPECT_TRUE(kernels.ok());
    return ComputeFindings({fleet, measures, *kernels, ComputeQuality(fleet, measures), stragglers, confidence});
  }
  std::vector<std::string> Ids() {
    std::vector<std::string> ids;
    for (const Finding& finding : Find()) ids.push_back(finding.id);
    return ids;
  }

  RunBuilder run;
  std::vector<SourceBuilder*> ranks;
  StragglerResult stragglers;
  std::vector<double> confidence;
};

TEST(Findings, AQuietRunHasNone) { EXPECT_THAT(Quiet().Ids(), IsEmpty()); }

TEST(Findings, TheCatalogueIsThatOfTheInterface) {
  const std::vector<std::string_view> ids = FindingIds();
  const std::set<std::string_view> known(ids.begin(), ids.end());
  EXPECT_EQ(known, (std::set<std::string_view>{"gpu_idle_host_bound", "launch_bound", "sync_in_step", "alloc_hot_path",
                                               "opaque_graphs", "exposed_wait", "exposed_transfer", "nccl_imbalance",
                                               "attention_dominates", "copies_dominate", "small_kernels",
                                               "host_copies_in_loop", "kernel_tail", "outliers", "persistent_straggler",
                                               "slow_device", "prefill_blocks_decode", "workload_class"}));
}

TEST(Findings, ADeviceThatWaitsForItsHostIsOne) {
  Quiet quiet;
  quiet.Idle(5 * kMs);
  const std::vector<Finding> found = quiet.Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "gpu_idle_host_bound");
  EXPECT_NEAR(*found[0].saving_ratio, 0.5, 1e-9);
  EXPECT_NEAR(found[0].evidence[0].value, 0.5, 1e-9);
  EXPECT_EQ(found[0].evidence[0].where, "all ranks");
}

TEST(Findings, APlaceIsNamedWhereOneRankIsWorse) {
  Quiet quiet;
  quiet.Idle(3 * kMs);
  for (StepRow& row : quiet.ranks[1]->data().steps) {
    row.tile.compute_ns -= 4 * kMs;
    row.tile.idle_host_ns += 4 * kMs;
  }
  const std::vector<Finding> found = quiet.Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence[0].where, "most on rank 1 on node0");
}

TEST(Findings, ASynchronisationExplainsTheIdleDevice) {
  Quiet quiet;
  quiet.Idle(5 * kMs);
  quiet.EachStep([](StepRow& row) {
    row.sync_calls = 40;
    row.sync_ns = 4 * kMs;
  });
  EXPECT_THAT(quiet.Ids(), ElementsAre("sync_in_step"));
}

TEST(Findings, AllocationsInTheStepAreOne) {
  Quiet quiet;
  quiet.Idle(5 * kMs);
  quiet.EachStep([](StepRow& row) {
    row.alloc_calls = 8;
    row.alloc_ns = 3 * kMs;
    row.alloc_max_ns = 2 * kMs;
  });
  const std::vector<Finding> found = quiet.Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "alloc_hot_path");
  EXPECT_THAT(found[0].cause, testing::HasSubstr("fragmentation"));
}

TEST(Findings, CopiesToAndFromTheHostAreOneWhereTheyTakeTime) {
  Quiet quiet;
  quiet.EachStep([](StepRow& row) {
    row.host_copies = 12;
    row.host_copy_ns = 2 * kMs;
    row.tile.copy_ns = row.tile.copy_only_ns = 3 * kMs;
    row.tile.compute_ns -= 3 * kMs;
  });
  EXPECT_THAT(quiet.Ids(), ElementsAre("host_copies_in_loop")) << "they are also what copies_dominate sees";
}

TEST(Findings, CopiesOnTheDeviceAreOneOfTheirOwn) {
  Quiet quiet;
  quiet.EachStep([](StepRow& row) {
    row.tile.copy_ns = row.tile.copy_only_ns = 3 * kMs;
    row.tile.compute_ns -= 3 * kMs;
  });
  EXPECT_THAT(quiet.Ids(), ElementsAre("copies_dominate"));
}

TEST(Findings, AttentionThatTakesMostIsOne) {
  Quiet quiet;
  for (SourceBuilder* rank : quiet.ranks) rank->Kernel("flash_fwd_kernel", std::vector<int64_t>(100, kMs));
  const std::vector<Finding> found = quiet.Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "attention_dominates");
  EXPECT_THAT(found[0].evidence[0].where, testing::HasSubstr("flash_fwd_kernel"));
}

TEST(Findings, AKernelThatSometimesTakesLongHasATail) {
  Quiet quiet;
  std::vector<int64_t> durations(1'000, kMs / 10);
  for (size_t i = 0; i < 40; ++i) durations[i * 25] = kMs;
  quiet.ranks[0]->Kernel("tailed_gemm_kernel", durations);
  const std::vector<Finding> found = quiet.Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "kernel_tail");
  EXPECT_THAT(found[0].evidence[0].where, testing::HasSubstr("tailed_gemm_kernel"));
}

TEST(Findings, AKernelOfTwoSizesHasNoTail) {
  Quiet quiet;
  std::vector<int64_t> durations(1'000, kMs / 10);
  for (size_t i = 0; i < 400; ++i) durations[i] = kMs;
  quiet.ranks[0]->Kernel("two_gemm_kernel", durations);
  EXPECT_THAT(quiet.Ids(), IsEmpty());
}

TEST(Findings, AFewVeryLongInstancesAreOutliers) {
  Quiet quiet;
  std::vector<int64_t> durations(1'000, kMs / 100);
  durations[500] = 5 * kMs;
  quiet.ranks[1]->Kernel("once_gemm_kernel", durations);
  EXPECT_THAT(quiet.Ids(), ElementsAre("outliers"));
}

TEST(Findings, APrefillAmongDecodeStepsIsOne) {
  Quiet quiet;
  quiet.EachStep([](StepRow& row) { row.phase = row.step == 4 ? "prefill" : "decode"; });
  quiet.EachStep([](StepRow& row) {
    if (row.step != 4) row.tile.span_ns = row.tile.compute_ns = 2 * kMs;
  });
  EXPECT_THAT(quiet.Ids(), ElementsAre("prefill_blocks_decode"));
}

TEST(Findings, WhereGraphsHideTheirKernelsNothingIsToldOfWhatRuns) {
  Quiet quiet;
  quiet.EachStep([](StepRow& row) {
    row.tile.copy_ns = row.tile.copy_only_ns = kMs;
    row.tile.idle_host_ns = 9 * kMs;
    row.tile.compute_ns = 0;
    row.launches = 2;
  });
  for (SourceBuilder* rank : quiet.ranks) rank->context().opaque_graph_launches = 10;
  EXPECT_THAT(quiet.Ids(), ElementsAre("opaque_graphs"));
}

TEST(Findings, AKernelOfThreeSizesHasNoOutliers) {
  Quiet quiet;
  std::vector<int64_t> durations(300, kMs / 10);
  for (size_t i = 0; i < 60; ++i) durations[i] = kMs / 5;
  for (size_t i = 60; i < 62; ++i) durations[i] = kMs / 2;
  quiet.ranks[0]->Kernel("sized_gemm_kernel", durations);
  EXPECT_THAT(quiet.Ids(), IsEmpty());
}

TEST(Findings, BurstsOfAServingEngineAreOneWhereNoPhaseIsTold) {
  Quiet quiet;
  quiet.EachStep([](StepRow& row) {
    if (row.step != 4) row.tile.span_ns = row.tile.compute_ns = 2 * kMs;
  });
  EXPECT_THAT(quiet.Ids(), IsEmpty()) << "nothing says that it serves a model";
  for (SourceBuilder* rank : quiet.ranks) rank->Kernel("reshape_and_cache_flash_kernel", {kMs});
  const std::vector<Finding> found = quiet.Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "prefill_blocks_decode");
  EXPECT_EQ(found[0].evidence[0].metric, "longest_burst_over_median_step");
}

// Every rank's communication, without waiting, and the bytes behind it.
std::vector<Finding> Exchange(std::array<int64_t, 2> own_ns, std::array<int64_t, 2> bytes) {
  Quiet quiet;
  FleetFixture fixture(quiet.run);
  for (const size_t rank : {0U, 1U}) {
    MatchedInstance instance;
    instance.confidence = 1;
    instance.comparable = true;
    instance.bytes = bytes[rank];
    MatchedMember member;
    member.rank_index = static_cast<int32_t>(rank);
    member.end_ns = own_ns[rank] + kMs;
    member.wait_ns = kMs;
    instance.members = {member, {.rank_index = static_cast<int32_t>(rank)}};
    fixture.match.instances.push_back(instance);
  }
  FleetMeasures measures = fixture.Measure();
  for (const size_t rank : {0U, 1U}) measures.ranks[rank].communication_ns = own_ns[rank] + kMs;
  const Fleet fleet = fixture.Make();
  const auto kernels = ComputeKernels(fleet, GroupBy::kShape, StepFigures::kDistributions);
  return ComputeFindings({fleet, measures, *kernels, ComputeQuality(fleet, measures), quiet.stragglers});
}

TEST(Findings, CommunicationThatTakesOneRankLongerIsOneWithItsReason) {
  const std::vector<Finding> more = Exchange({10 * kMs, 5 * kMs}, {2'000, 1'000});
  ASSERT_EQ(more.size(), 1U);
  EXPECT_EQ(more[0].id, "nccl_imbalance");
  EXPECT_EQ(more[0].evidence[0].where, "rank 0 on node0");
  EXPECT_THAT(more[0].cause, testing::HasSubstr("1.33 times the bytes"));
  const std::vector<Finding> slower = Exchange({10 * kMs, 5 * kMs}, {1'000, 1'000});
  ASSERT_EQ(slower.size(), 1U);
  EXPECT_THAT(slower[0].cause, testing::HasSubstr("slower path"));
  EXPECT_THAT(Exchange({5 * kMs, 5 * kMs}, {1'000, 1'000}), IsEmpty());
}

// Rank 0 waits; rank 1 certainly comes last in one of two equally long waits.
std::vector<Finding> Wait(CollectiveOp op, bool decides = false) {
  Quiet quiet;
  quiet.stragglers.decides = decides;
  FleetFixture fixture(quiet.run);
  for (const bool certain : {true, false}) {
    MatchedInstance instance;
    instance.op = op;
    instance.confidence = 1;
    instance.comparable = true;
    instance.all_pairs = true;
    instance.last_certain = certain;
    instance.last_rank_index = 1;
    instance.members = {{.rank_index = 0, .end_ns = kMs, .wait_ns = kMs}, {.rank_index = 1}};
    fixture.match.instances.push_back(instance);
  }
  FleetMeasures measures = fixture.Measure();
  measures.ranks[0].common_exposure.wait_ns = 60 * kMs;
  const Fleet fleet = fixture.Make();
  const auto kernels = ComputeKernels(fleet, GroupBy::kShape, StepFigures::kDistributions);
  return ComputeFindings({fleet, measures, *kernels, ComputeQuality(fleet, measures), quiet.stragglers});
}

TEST(Findings, WaitingIsToldWithWhoCausesMostOfIt) {
  const std::vector<Finding> found = Wait(CollectiveOp::kAllReduce);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "exposed_wait");
  EXPECT_EQ(found[0].evidence[0].where, "most on rank 0 on node0");
  EXPECT_DOUBLE_EQ(found[0].evidence[1].value, 0.5);
  EXPECT_EQ(found[0].evidence[1].where, "rank 1 on node0");
}

TEST(Findings, TheCauseOfWaitingDoesNotContradictWhoCausesIt) {
  const std::string open = Wait(CollectiveOp::kAllReduce)[0].cause;
  EXPECT_THAT(open, testing::HasSubstr("rank 1 on node0 causes 50.0 % of the waiting"));
  EXPECT_THAT(open, testing::HasSubstr("too short to determine"));
  const std::string decided = Wait(CollectiveOp::kAllReduce, true)[0].cause;
  EXPECT_THAT(decided, testing::HasSubstr("rank 1 on node0 causes 50.0 % of the waiting, but no persistent straggler"));
}

TEST(Findings, WaitingInSendsAndReceivesIsThatOfAPipeline) {
  EXPECT_THAT(Wait(CollectiveOp::kRecv)[0].cause, testing::HasSubstr("pipeline"));
  EXPECT_THAT(Wait(CollectiveOp::kAllReduce)[0].cause, testing::Not(testing::HasSubstr("pipeline")));
}

TEST(Findings, KernelsThatMoveMemoryMakeAClassOfTheWorkload) {
  Quiet quiet;
  for (SourceBuilder* rank : quiet.ranks) rank->Kernel("rms_norm_kernel", std::vector<int64_t>(100, 2 * kMs));
  const std::vector<Finding> found = quiet.Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "workload_class");
  EXPECT_NEAR(found[0].evidence[0].value, 2.0 / 3, 1e-9);
}

TEST(Findings, AnIdleDeviceExplainsAnOverheadBoundRunAndElseItIsOne) {
  Quiet idle;
  idle.Idle(6 * kMs);
  EXPECT_THAT(idle.Ids(), ElementsAre("gpu_idle_host_bound"));
  Quiet overhead;
  overhead.Idle(38 * kMs / 10);
  overhead.EachStep([](StepRow& row) {
    row.tile.compute_ns -= 3 * kMs;
    row.tile.comm_ns += 3 * kMs;  // not matched: wait or transfer cannot be told
  });
  EXPECT_THAT(overhead.Ids(), ElementsAre("workload_class"));
}

TEST(Findings, CommunicationThatNobodyCanTellIsAClassOfTheWorkload) {
  Quiet quiet;
  quiet.EachStep([](StepRow& row) {
    row.tile.compute_ns -= 6 * kMs;
    row.tile.comm_ns += 6 * kMs;
  });
  const std::vector<Finding> found = quiet.Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "workload_class");
  EXPECT_NEAR(*found[0].saving_ratio, 0.6, 1e-9);
}

Straggler Late(CauseKind cause) {
  Straggler straggler;
  straggler.id = "1";
  straggler.rank_indices = {1};
  straggler.p_adjusted = 1e-4;
  straggler.persistence = 1;
  straggler.effect_ns_per_step = kMs;
  straggler.parts = {{cause, "", kMs, 0}};
  straggler.what_if = WhatIf{.saving_ratio = 0.1};
  return straggler;
}

TEST(Findings, AStragglerThatTheSummaryDoubtsIsNoCertainFinding) {
  Quiet quiet;
  quiet.stragglers.stragglers = {Late(CauseKind::kHostDelay)};
  quiet.confidence = {0.5};
  const std::vector<Finding> found = quiet.Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].severity, Severity::kMinor);
  EXPECT_THAT(found[0].title, testing::HasSubstr("may wait"));
  quiet.confidence = {0.99};
  EXPECT_EQ(quiet.Find().at(0).severity, Severity::kMajor);
}

TEST(Findings, AStragglerThatIsLateInBurstsShowsNoLimitThatItDoesNotExceed) {
  Quiet quiet;
  quiet.stragglers.stragglers = {Late(CauseKind::kHostDelay)};
  quiet.stragglers.stragglers[0].persistence = 0.2;
  EXPECT_EQ(quiet.Find().at(0).evidence.at(0).threshold, 0);
}

TEST(Findings, ARankThatIsLateAgainAndAgainIsOneASlowDeviceAnother) {
  Quiet host;
  host.stragglers.stragglers = {Late(CauseKind::kHostDelay)};
  EXPECT_THAT(host.Ids(), ElementsAre("persistent_straggler"));
  Quiet device;
  device.stragglers.stragglers = {Late(CauseKind::kSlowDevice)};
  EXPECT_THAT(device.Ids(), ElementsAre("slow_device"));
  EXPECT_EQ(device.Find()[0].saving_ratio, 0.1);
  EXPECT_EQ(host.Find()[0].cause, "its CPU launches kernels late: 1 ms a step");
  EXPECT_THAT(host.Find()[0].next_action, testing::HasSubstr("NUMA placement"));
}

TEST(Findings, WhatSavesMostComesFirst) {
  Quiet quiet;
  quiet.Idle(5 * kMs);
  quiet.stragglers.stragglers = {Late(CauseKind::kHostDelay)};
  EXPECT_THAT(quiet.Ids(), ElementsAre("gpu_idle_host_bound", "persistent_straggler"));
}

TEST(Findings, EveryFindingHasEvidenceACauseAndANextAction) {
  Quiet quiet;
  quiet.Idle(5 * kMs);
  quiet.stragglers.stragglers = {Late(CauseKind::kHostDelay)};
  for (const Finding& finding : quiet.Find()) {
    EXPECT_FALSE(finding.evidence.empty()) << finding.id;
    EXPECT_NE(finding.cause, "") << finding.id;
    EXPECT_NE(finding.next_action, "") << finding.id;
  }
}

TEST(Findings, ADriverCallInsideARuntimeCallIsNoSecondLaunch) {
  Quiet quiet;
  quiet.Idle(2 * kMs);
  for (SourceBuilder* rank : quiet.ranks) {
    rank->data().steps.clear();
    for (const char* name : {"cudaLaunchKernel", "cuLaunchKernel"}) {
      ApiRow row;
      row.name = quiet.run.Name(name);
      row.kind = ApiKind::kLaunch;
      for (int i = 0; i < 300; ++i) row.duration.Add(kMs / 10);  // 30 of 100 ms each
      rank->data().apis.push_back(row);
    }
  }
  EXPECT_THAT(quiet.Ids(), testing::Not(testing::Contains("launch_bound")));
}

}  // namespace
}  // namespace lockstep
