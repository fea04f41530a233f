#include "agent/pipeline/launch_join.h"

#include <gtest/gtest.h>

#include "analysis/base/time.h"

namespace lockstep {
namespace {

constexpr int64_t kUs = 1'000;

// A small file in domain words.
struct File {
  RecordCollector collector{CollectorOptions{testing::TempDir(), 1 << 20}};
  uint32_t process = collector.AddProcess(42);
  std::vector<std::vector<int64_t>> launches_by_step;

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
    EXPECT_TRUE(SweepHost(collector, launches, launches_by_step).ok());
    EXPECT_TRUE(launches.Finish().ok());
    auto joined = JoinLaunches(collector, launches);
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
  EXPECT_EQ(file.launches_by_step[0], (std::vector<int64_t>{1, 1}));
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

}  // namespace
}  // namespace lockstep
