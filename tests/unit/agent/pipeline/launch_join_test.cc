#include "agent/pipeline/launch_join.h"

#include <gtest/gtest.h>

#include "agent/readers/step_mark.h"
#include "analysis/base/time.h"
#include "analysis/model/row_values.h"
#include "tests/support/time_units.h"

namespace lockstep {
namespace {

// A small file in domain words.
struct File {
  RecordCollector collector{CollectorOptions{testing::TempDir(), 1 << 20}};
  uint32_t process = collector.AddProcess(42);
  std::vector<std::vector<HostOfStep>> host_by_step;

  void Step(int64_t number, int64_t start, int64_t duration) {
    HostRecord step;
    step.kind = HostKind::kStep;
    step.start_ns = start;
    step.duration_ns = duration;
    step.step_number = number;
    step.name = collector.InternName("ProfilerStep");
    EXPECT_TRUE(collector.Host(step).ok());
  }
  void Launch(uint64_t correlation, int64_t start, int64_t duration, ApiKind kind = ApiKind::kLaunch, int64_t tid = 1) {
    ApiRecord api;
    api.start_ns = start;
    api.duration_ns = duration;
    api.correlation = correlation;
    api.has_correlation = true;
    api.kind = kind;
    api.tid = tid;
    api.name = collector.InternName("cudaLaunchKernel");
    EXPECT_TRUE(collector.Api(api).ok());
  }
  void Kernel(uint64_t correlation, int64_t start, std::string_view name = "gemm", bool has_correlation = true) {
    DeviceRecord kernel;
    kernel.start_ns = start;
    kernel.duration_ns = 5 * kUs;
    kernel.correlation = correlation;
    kernel.has_correlation = has_correlation;
    kernel.stream = 7;
    kernel.name = collector.InternName(name);
    EXPECT_TRUE(collector.Device(kernel).ok());
  }
  void Range(std::string_view name, int64_t start, int64_t duration, int64_t tid = 1) {
    HostRecord range;
    range.start_ns = start;
    range.duration_ns = duration;
    range.tid = tid;
    range.name = collector.InternName(name);
    EXPECT_TRUE(collector.Host(range).ok());
  }
  Sketch ProjectionOf(std::string_view name) {
    for (RangeRow& row : collector.host_totals()[process].Ranges()) {
      if (row.name == collector.InternName(name) && row.style != HostKind::kStartEnd) return std::move(row.projected);
    }
    ADD_FAILURE() << "no range " << name;
    return {};
  }
  void NcclCall(std::string_view name, int64_t start, int64_t duration, int64_t bytes = -1, uint64_t hash = 0xabc) {
    HostRecord call;
    call.start_ns = start;
    call.duration_ns = duration;
    call.tid = 1;
    call.name = collector.InternName(name);
    call.kind = bytes >= 0 ? HostKind::kCollective : HostKind::kRange;
    if (bytes >= 0) {
      CollectiveMeta meta;
      meta.op = CollectiveOpFromNcclApi(name);
      meta.bytes = bytes;
      meta.comm_hash = hash;
      call.meta = collector.InternMeta(meta);
    }
    EXPECT_TRUE(collector.Host(call).ok());
  }

  std::vector<ActivityRecord> Join() {
    EXPECT_TRUE(collector.Finish().ok());
    LaunchSorter launches(testing::TempDir(), 1 << 20);
    RangeProjection ranges;
    EXPECT_TRUE(SweepHost(collector, launches, ranges, host_by_step, {}).ok());
    EXPECT_TRUE(launches.Finish().ok());
    auto joined = JoinLaunches(collector, launches, ranges);
    ranges.Finish(collector.host_totals());
    EXPECT_TRUE(joined.ok());
    result = *std::move(joined);
    EXPECT_TRUE(collector.activities().Finish().ok());
    std::vector<ActivityRecord> activities;
    ActivityRecord record;
    while (*collector.activities().Next(record)) activities.push_back(record);
    return activities;
  }
  [[nodiscard]] const CollectiveMeta& MetaOf(const ActivityRecord& record) {
    return collector.interner().MetaOf(record.meta);
  }
  JoinResult result;
};

TEST(LaunchJoin, AStepOwnsWhatWasLaunchedInItNotWhatRanInIt) {
  File file;
  file.Step(10, 0, 100 * kUs);
  file.Step(11, 100 * kUs, 100 * kUs);
  file.Launch(1, 90 * kUs, kUs);
  file.Launch(2, 110 * kUs, kUs);
  file.Kernel(1, 150 * kUs);
  file.Kernel(2, 160 * kUs);
  const auto activities = file.Join();
  ASSERT_EQ(activities.size(), 2U);
  EXPECT_EQ(activities[0].step, 0);
  EXPECT_EQ(activities[1].step, 1);
  const HostOfStep one{.launches = 1, .launch_ns = kUs};
  EXPECT_EQ(file.host_by_step[0], (std::vector<HostOfStep>{one, one}));
}

TEST(LaunchJoin, AStepCountsTheCallsThatStartInIt) {
  File file;
  file.Step(0, 0, 100 * kUs);
  file.Step(1, 100 * kUs, 100 * kUs);
  file.Launch(1, 10 * kUs, 2 * kUs, ApiKind::kGraphLaunch);
  file.Launch(2, 20 * kUs, 90 * kUs, ApiKind::kSync);
  file.Launch(3, 120 * kUs, 5 * kUs, ApiKind::kAlloc);
  file.Launch(4, 130 * kUs, 7 * kUs, ApiKind::kAlloc);
  file.Launch(5, 250 * kUs, 7 * kUs, ApiKind::kSync);  // in no step
  EXPECT_TRUE(file.Join().empty());
  const HostOfStep first{
      .launches = 1, .launch_ns = 2 * kUs, .graph_launches = 1, .sync_calls = 1, .sync_ns = 90 * kUs};
  const HostOfStep second{.alloc_calls = 2, .alloc_ns = 12 * kUs, .alloc_max_ns = 7 * kUs};
  EXPECT_EQ(file.host_by_step[0], (std::vector<HostOfStep>{first, second}));
  EXPECT_EQ(file.result.opaque_graph_launches[0], 1);
}

TEST(LaunchJoin, ALaunchKnowsWhenTheHostLastWaitedForTheDevice) {
  File file;
  file.Launch(1, 10 * kUs, 2 * kUs);
  file.Launch(2, 20 * kUs, 30 * kUs, ApiKind::kSync);
  file.Launch(3, 60 * kUs, 5 * kUs, ApiKind::kSync, 2);  // another thread's; nothing was launched between
  file.Launch(4, 70 * kUs, 2 * kUs);
  file.Launch(5, 75 * kUs, 2 * kUs);
  file.Launch(6, 80 * kUs, 100 * kUs, ApiKind::kSync, 2);
  file.Launch(7, 90 * kUs, 2 * kUs);  // the other thread still waits
  for (const uint64_t correlation : {1, 4, 5, 7})
    file.Kernel(correlation, 200 * kUs + static_cast<int64_t>(correlation));
  const auto activities = file.Join();
  ASSERT_EQ(activities.size(), 4U);
  EXPECT_EQ(activities[0].host_wait.from_ns, kNoTime);
  for (const size_t waited : {1, 2, 3}) {
    EXPECT_EQ(activities[waited].host_wait.from_ns, 20 * kUs) << waited;
    EXPECT_EQ(activities[waited].host_wait.until_ns, 65 * kUs) << waited;
  }
}

TEST(LaunchJoin, ADriverCallInsideARuntimeCallIsOneCall) {
  File file;
  file.Step(0, 0, 100 * kUs);
  file.Launch(1, 10 * kUs, 5 * kUs);
  file.Launch(1, 11 * kUs, 3 * kUs);
  file.Join();
  EXPECT_EQ(file.host_by_step[0][0], (HostOfStep{.launches = 1, .launch_ns = 5 * kUs}));
}

TEST(LaunchJoin, AKernelWithoutLaunchRowIsKeptAndCounted) {
  File file;
  file.Launch(1, 0, kUs);
  file.Kernel(99, 10 * kUs);
  file.Kernel(0, 20 * kUs, "gemm", false);
  const auto activities = file.Join();
  ASSERT_EQ(activities.size(), 2U);
  EXPECT_EQ(activities[0].launch_start_ns, kNoTime);
  EXPECT_EQ(file.result.sources[0].drops.Of(DropReason::kMissingLaunch), 2);
}

TEST(LaunchJoin, TellsTheThreadOfTheLaunchAndHowManyActivitiesEachStepLaunched) {
  File file;
  file.Step(10, 0, 100 * kUs);
  file.Step(11, 100 * kUs, 100 * kUs);
  file.Step(12, 200 * kUs, 100 * kUs);
  file.Launch(1, 10 * kUs, kUs, ApiKind::kLaunch, 3);
  file.Launch(2, 110 * kUs, kUs, ApiKind::kLaunch, 4);
  file.Launch(3, 120 * kUs, kUs, ApiKind::kLaunch, 4);
  for (const uint64_t correlation : {1, 2, 3, 99}) {
    file.Kernel(correlation, static_cast<int64_t>(150 + 10 * correlation) * kUs);
  }
  const auto activities = file.Join();
  ASSERT_EQ(activities.size(), 4U);
  EXPECT_EQ(activities[0].tid, 3);
  EXPECT_EQ(activities[1].tid, 4);
  EXPECT_EQ(activities[3].tid, -1);
  EXPECT_EQ(file.result.sources[0].activities_by_step, (std::vector<uint32_t>{1, 2}));
}

TEST(RecordCollector, KeepsRangesThatEndElsewhereApartFromPushAndPopOfTheSameName) {
  File file;
  file.Range("send", 0, 10 * kUs);
  HostRecord other;
  other.kind = HostKind::kStartEnd;
  other.start_ns = 5 * kUs;
  other.duration_ns = 20 * kUs;
  other.name = file.collector.InternName("send");
  ASSERT_TRUE(file.collector.Host(other).ok());
  file.Launch(1, kUs, kUs);
  file.Kernel(1, 20 * kUs);
  file.Join();
  const std::vector<RangeRow> ranges = file.collector.host_totals()[file.process].Ranges();
  ASSERT_EQ(ranges.size(), 2U);
  const RangeRow& push_pop = ranges[0];
  const RangeRow& start_end = ranges[1];
  EXPECT_EQ(push_pop.duration.sum(), 10 * kUs);
  EXPECT_EQ(push_pop.projected.count(), 1);
  EXPECT_EQ(start_end.duration.sum(), 20 * kUs);
  EXPECT_EQ(start_end.style, HostKind::kStartEnd);
  EXPECT_TRUE(start_end.projected.empty());
}

TEST(RecordCollector, StepsOfTwoStylesOfOneNameAreTwoRowsAndBothSteps) {
  File file;
  HostRecord mark;
  mark.name = file.collector.InternName("step");
  for (const HostKind kind : {HostKind::kRange, HostKind::kStartEnd}) {
    mark.kind = kind;
    mark.start_ns += 10 * kUs;
    mark.duration_ns += 10 * kUs;
    MarkStep(-1, mark);
    ASSERT_TRUE(file.collector.Host(mark).ok());
  }
  file.Join();
  const std::vector<RangeRow> ranges = file.collector.host_totals()[file.process].Ranges();
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0].duration.sum(), 10 * kUs);
  EXPECT_EQ(ranges[1].duration.sum(), 20 * kUs);
  const std::vector<StepRange>& steps = file.collector.steps()[file.process];
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].number, 0);
  EXPECT_EQ(steps[1].number, 1);
}

TEST(RecordCollector, CountsStepsBeyondTheLimitAsSuch) {
  File file;
  for (int64_t n = 0; n < static_cast<int64_t>(RecordCollector::kMaxSteps) + 5; ++n) file.Step(n, n * 10, 10);
  EXPECT_EQ(file.collector.context().drops.Of(DropReason::kStepLimit), 5);
  EXPECT_EQ(file.collector.context().drops.Of(DropReason::kKeyLimit), 0);
}

TEST(LaunchJoin, OfNestedCallsWithOneCorrelationTheOuterCounts) {
  File file;
  file.Launch(1, 2 * kUs, 3 * kUs);
  file.Launch(1, kUs, 8 * kUs);
  file.Kernel(1, 20 * kUs);
  const auto activities = file.Join();
  ASSERT_EQ(activities.size(), 1U);
  EXPECT_EQ(activities[0].launch_start_ns, kUs);
  EXPECT_EQ(activities[0].launch_end_ns, 9 * kUs);
}

TEST(LaunchJoin, AllNodesOfAGraphReplayBelongToItsLaunch) {
  File file;
  file.Launch(1, 0, kUs, ApiKind::kGraphLaunch);
  file.Launch(2, 50 * kUs, kUs, ApiKind::kGraphLaunch);
  for (int i = 0; i < 3; ++i) file.Kernel(1, (10 + 6 * i) * kUs);
  file.Kernel(2, 60 * kUs);
  const auto activities = file.Join();
  ASSERT_EQ(activities.size(), 4U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(activities[static_cast<size_t>(i)].graph_launch, 0);
  EXPECT_EQ(activities[3].graph_launch, 1);
  EXPECT_TRUE(activities[3].from_graph);
}

TEST(LaunchJoin, AGraphLaunchWithoutDeviceRowsIsOpaqueOnceHoweverItsCallsNest) {
  File file;
  file.Launch(1, 0, 5 * kUs, ApiKind::kGraphLaunch);
  file.Launch(1, kUs, 2 * kUs, ApiKind::kGraphLaunch);
  file.Launch(2, 10 * kUs, kUs);
  file.Kernel(2, 20 * kUs);
  file.Join();
  EXPECT_EQ(file.result.opaque_graph_launches[0], 1);
}

TEST(LaunchJoin, ADeviceTimeHoursAwayFromTheHostIsDroppedAndCounted) {
  File file;
  file.Launch(1, 0, kUs);
  file.Launch(2, 10 * kUs, kUs);
  file.Kernel(1, 100'000 * kNsPerS);
  file.Kernel(2, 20 * kUs);
  EXPECT_EQ(file.Join().size(), 1U);
  EXPECT_EQ(file.result.sources[0].drops.Of(DropReason::kOutsideWindow), 1);
}

TEST(LaunchJoin, AKernelThatStartsBeforeItsCallIsNoiseUpToTwentyMicroseconds) {
  File file;
  file.Launch(1, 100 * kUs, kUs);
  file.Launch(2, 200 * kUs, kUs);
  file.Kernel(1, 95 * kUs);
  file.Kernel(2, 150 * kUs);
  EXPECT_EQ(file.Join().size(), 2U);
  EXPECT_EQ(file.result.sources[0].drops.Of(DropReason::kNegativeLaunchDelay), 1);
  EXPECT_EQ(file.result.sources[0].drops.Of(DropReason::kClockOrderViolation), 1);
}

TEST(HostSweep, ALaunchInsideACollectiveCallCarriesItsMetadata) {
  File file;
  file.NcclCall("ncclAllReduce", 0, 20 * kUs, 4096);
  file.Launch(1, 5 * kUs, kUs);
  file.Kernel(1, 30 * kUs, "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)");
  const auto activities = file.Join();
  EXPECT_EQ(file.MetaOf(activities[0]).op, CollectiveOp::kAllReduce);
  EXPECT_EQ(file.MetaOf(activities[0]).bytes, 4096);
}

TEST(HostSweep, AGroupedCallIsReleasedByTheGroupEnd) {
  File file;
  file.NcclCall("ncclGroupStart", 0, kUs);
  file.NcclCall("ncclReduceScatter", 2 * kUs, kUs, 512);
  file.NcclCall("ncclGroupEnd", 4 * kUs, 10 * kUs);
  file.Launch(1, 6 * kUs, kUs);
  file.Launch(2, 40 * kUs, kUs);
  file.Kernel(1, 20 * kUs);
  file.Kernel(2, 50 * kUs);
  const auto activities = file.Join();
  EXPECT_EQ(file.MetaOf(activities[0]).op, CollectiveOp::kReduceScatter);
  EXPECT_EQ(activities[1].meta, kNoId);
}

TEST(HostSweep, FusedSendsAndReceivesBecomeOneOperationWithTheBytesSent) {
  File file;
  file.NcclCall("ncclGroupStart", 0, kUs);
  file.NcclCall("ncclSend", 2 * kUs, kUs, 100);
  file.NcclCall("ncclSend", 3 * kUs, kUs, 200);
  file.NcclCall("ncclRecv", 4 * kUs, kUs, 700);
  file.NcclCall("ncclGroupEnd", 6 * kUs, 10 * kUs);
  file.Launch(1, 8 * kUs, kUs);
  file.Kernel(1, 20 * kUs);
  const auto activities = file.Join();
  EXPECT_EQ(file.MetaOf(activities[0]).op, CollectiveOp::kSendRecv);
  EXPECT_EQ(file.MetaOf(activities[0]).bytes, 300);
}

TEST(LaunchJoin, ARangeSpansOnTheDeviceWhatWasLaunchedInsideIt) {
  File file;
  file.Range("outer", 0, 100 * kUs);
  file.Range("inner", 20 * kUs, 20 * kUs);
  file.Range("elsewhere", 0, 100 * kUs, 2);
  file.Range("empty", 60 * kUs, 5 * kUs);
  file.Launch(1, 10 * kUs, kUs);
  file.Launch(2, 30 * kUs, kUs);
  file.Launch(3, 150 * kUs, kUs);
  file.Kernel(1, 200 * kUs);  // 5 us each
  file.Kernel(2, 300 * kUs);
  file.Kernel(3, 400 * kUs);
  file.Join();
  EXPECT_EQ(file.ProjectionOf("inner").sum(), 5 * kUs);
  EXPECT_EQ(file.ProjectionOf("outer").sum(), 105 * kUs);
  EXPECT_EQ(file.ProjectionOf("empty").count(), 0);
  EXPECT_EQ(file.ProjectionOf("elsewhere").count(), 0);
}

TEST(LaunchJoin, ALaunchHasThePhaseThatSurroundsItOnItsThreadElseTheOneBegunLast) {
  File file;
  file.Range("## forward ##", 0, 50 * kUs);
  file.Range("## backward ##", 60 * kUs, 40 * kUs);
  file.Range("Optimizer.step#SGD.step", 60 * kUs, 10 * kUs, 3);
  file.Launch(1, 10 * kUs, kUs);
  file.Launch(2, 65 * kUs, kUs);                       // on the main thread
  file.Launch(3, 80 * kUs, kUs, ApiKind::kLaunch, 2);  // autograd's own thread
  file.Launch(4, 120 * kUs, kUs);
  for (uint64_t i = 1; i <= 4; ++i) file.Kernel(i, static_cast<int64_t>(100 + 20 * i) * kUs);
  const auto activities = file.Join();
  ASSERT_EQ(activities.size(), 4U);
  EXPECT_EQ(activities[0].phase, Phase::kForward);
  EXPECT_EQ(activities[1].phase, Phase::kBackward);
  EXPECT_EQ(activities[2].phase, Phase::kBackward);
  EXPECT_EQ(activities[3].phase, Phase::kNone);
}

TEST(LaunchJoin, PassesOfAServingEngineAreTheStepsWhereNothingElseMarksThem) {
  File file;
  file.Range("execute_context_1(8_64)_generation_0(0)", 0, 50 * kUs);
  file.Range("step[EXTEND bs=1]", 5 * kUs, 40 * kUs);  // the same pass
  file.Range("execute_context_0(0)_generation_4(4_99)", 60 * kUs, 30 * kUs);
  file.Launch(1, 10 * kUs, kUs);
  file.Launch(2, 70 * kUs, kUs);
  file.Kernel(1, 100 * kUs);
  file.Kernel(2, 120 * kUs);
  const auto activities = file.Join();
  ASSERT_EQ(file.collector.steps()[0].size(), 2U);
  EXPECT_EQ(activities[0].step, 0);
  EXPECT_EQ(activities[1].step, 1);
  EXPECT_EQ(file.collector.step_source(0), StepSource::kEngine);
}

TEST(LaunchJoin, NestedCallsOfTwoThreadsThatLaunchAtOnceAreStillOneEach) {
  File file;
  file.Step(0, 0, 100 * kUs);
  file.Launch(1, 10 * kUs, 9 * kUs, ApiKind::kLaunch, 1);
  file.Launch(2, 11 * kUs, 9 * kUs, ApiKind::kLaunch, 2);
  file.Launch(1, 12 * kUs, 5 * kUs, ApiKind::kLaunch, 1);
  file.Launch(2, 13 * kUs, 5 * kUs, ApiKind::kLaunch, 2);
  file.Join();
  EXPECT_EQ(file.host_by_step[0][0], (HostOfStep{.launches = 2, .launch_ns = 18 * kUs}));
}

TEST(LaunchJoin, RangesThatOverlapWithoutNestingDoNotWidenEachOther) {
  File file;
  file.Range("first", 1'000 * kUs, 100 * kUs);
  file.Range("second", 1'050 * kUs, 100 * kUs);
  file.Launch(1, 1'060 * kUs, kUs);
  file.Launch(2, 1'120 * kUs, kUs);
  file.Kernel(1, 1'200 * kUs);
  file.Kernel(2, 2'000 * kUs);
  file.Join();
  EXPECT_EQ(file.ProjectionOf("second").sum(), 805 * kUs);
  EXPECT_LE(file.ProjectionOf("first").sum(), 5 * kUs);
}

TEST(LaunchJoin, RangesThatNeverEndHideNeitherPhasesNorWhatIsLaunched) {
  File file;
  for (int i = 0; i < 300; ++i) file.Range("leaked", i, 1'000'000 * kUs);
  file.Range("decode", 1'000, 100 * kUs);
  file.Launch(1, 10 * kUs, kUs);
  file.Kernel(1, 200 * kUs);
  EXPECT_EQ(file.Join().at(0).phase, Phase::kDecode);
  EXPECT_EQ(file.ProjectionOf("decode").count(), 1);
}

TEST(LaunchJoin, AKernelHasTheInnermostRangeAroundItsLaunchWithoutNumbers) {
  File file;
  file.Range("layer 3", 0, 100 * kUs);
  file.Range("mlp 12", 20 * kUs, 20 * kUs);
  file.Range("elsewhere", 20 * kUs, 20 * kUs, 2);
  const std::vector<std::pair<int64_t, std::string>> launches = {
      {10 * kUs, "layer #"}, {25 * kUs, "mlp #"}, {60 * kUs, "layer #"}, {150 * kUs, ""}};
  for (size_t i = 0; i < launches.size(); ++i) {
    file.Launch(i + 1, launches[i].first, kUs);
    file.Kernel(i + 1, launches[i].first + 5 * kUs);
  }
  const auto activities = file.Join();
  ASSERT_EQ(activities.size(), launches.size());
  for (size_t i = 0; i < launches.size(); ++i) {
    const NameId range = activities[i].range;
    EXPECT_EQ(range == kNoId ? "" : file.collector.interner().NameOf(range), launches[i].second) << i;
  }
}

TEST(LaunchJoin, TheRangeOfAStepSaysNothingOfAKernel) {
  File file;
  for (int64_t step = 0; step < 2; ++step) {
    file.Step(step, step * 100 * kUs, 100 * kUs);
    file.Launch(static_cast<uint64_t>(step), step * 100 * kUs + 10 * kUs, kUs);
    file.Kernel(static_cast<uint64_t>(step), step * 100 * kUs + 15 * kUs);
  }
  for (const ActivityRecord& activity : file.Join()) EXPECT_EQ(activity.range, kNoId);
}

}  // namespace
}  // namespace lockstep
