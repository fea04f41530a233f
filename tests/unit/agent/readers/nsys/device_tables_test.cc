#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/unit/agent/readers/nsys/nsys_fixture.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

class NsysDeviceTables : public NsysTest {};

constexpr int64_t kIntMax = 2'147'483'647;

TEST_F(NsysDeviceTables, EverySchemaGivesTheSameRecords) {
  std::string first;
  for (const NsysSchema schema : kAllNsysSchemas) {
    NsysBuilder file = File(schema);
    const NsysPlace place{.pid = 7, .tid = 9, .device = 1, .stream = 13, .correlation = 5};
    file.Api("cudaLaunchKernel_v7000", 100, 200, place);
    file.Kernel("gemm", 300, 400, place).Memcpy(1, 64, 410, 420, place).Memset(32, 430, 440, place);
    file.Nvtx(59, "forward", 50, 500, place);
    sink_ = CollectingSink();
    Read(file);
    EXPECT_EQ(result_.outcome, ReadOutcome::kWhole) << result_.reason;
    if (first.empty()) first = sink_.Dump();
    EXPECT_EQ(sink_.Dump(), first) << "schema " << static_cast<int>(schema);
  }
  EXPECT_EQ(sink_.devices.size(), 3u);
}

TEST_F(NsysDeviceTables, ATableOfANewerVersionIsReadAsTheOneItStandsFor) {
  const NsysPlace place{.pid = 7, .tid = 9, .device = 1, .stream = 13, .correlation = 5};
  NsysBuilder known = File();
  known.Kernel("gemm", 300, 400, place).Nvtx(59, "forward", 50, 500, place);
  Read(known);
  const std::string expected = sink_.Dump();
  sink_ = CollectingSink();
  NsysBuilder newer = File(NsysSchema::k3_28, "newer.sqlite");
  newer.Kernel("gemm", 300, 400, place).Nvtx(59, "forward", 50, 500, place);
  newer.Sql("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO CUPTI_ACTIVITY_KIND_KERNEL_V2");
  newer.Sql("ALTER TABLE NVTX_EVENTS RENAME TO NVTX_EVENTS_V2");
  Read(newer);
  EXPECT_EQ(result_.outcome, ReadOutcome::kWhole) << result_.reason;
  EXPECT_EQ(sink_.Dump(), expected);
  EXPECT_THAT(Diagnostics(),
              testing::HasSubstr("CUPTI_ACTIVITY_KIND_KERNEL_V2 was read as CUPTI_ACTIVITY_KIND_KERNEL"));
}

TEST_F(NsysDeviceTables, ANewerTableWithoutTheNeededColumnsIsNamedAndTheFileIsNotWhole) {
  NsysBuilder file = File();
  file.Sql("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V3 (begin INTEGER, finish INTEGER)");
  Read(file);
  EXPECT_EQ(result_.outcome, ReadOutcome::kPartial);
  EXPECT_THAT(result_.reason, testing::HasSubstr("CUPTI_ACTIVITY_KIND_KERNEL_V3 was not read"));
}

TEST_F(NsysDeviceTables, AKernelKeepsItsPlaceNamesAndShape) {
  NsysBuilder file = File();
  const int64_t mangled = file.String("_Z4gemmv");
  file.Kernel("void gemm<int>()", 300, 450, {.pid = 70'000, .device = 2, .stream = 13, .correlation = 5},
              {{"mangledName", mangled},
               {"gridX", 4},
               {"gridY", 2},
               {"gridZ", 1},
               {"blockX", 128},
               {"blockY", 1},
               {"blockZ", 1}});
  Read(file);
  ASSERT_EQ(sink_.devices.size(), 1u);
  const DeviceRecord& kernel = sink_.devices[0];
  EXPECT_EQ(kernel.start_ns, 300);
  EXPECT_EQ(kernel.duration_ns, 150);
  EXPECT_EQ(kernel.device, 2);
  EXPECT_EQ(kernel.stream, 13);
  EXPECT_EQ(kernel.correlation, 5u);
  EXPECT_TRUE(kernel.has_correlation);
  EXPECT_FALSE(kernel.from_graph);
  EXPECT_EQ(Name(kernel.name), "void gemm<int>()");
  EXPECT_EQ(Name(kernel.mangled), "_Z4gemmv");
  EXPECT_EQ(sink_.shapes.at(kernel.shape), (LaunchShape{{4, 2, 1}, {128, 1, 1}}));
  EXPECT_EQ(sink_.context().processes.at(kernel.process).pid, 70'000);
}

TEST_F(NsysDeviceTables, AGraphNodeIsMarkedAsSuch) {
  NsysBuilder file = File();
  file.Kernel("gemm", 300, 450, {}, {{"graphNodeId", 77}});
  Read(file);
  EXPECT_TRUE(sink_.devices.at(0).from_graph);
  EXPECT_EQ(sink_.devices.at(0).graph_node, 77u);
}

TEST_F(NsysDeviceTables, AMissingCorrelationIsNotZero) {
  NsysBuilder file = File();
  file.Kernel("gemm", 300, 450, {.correlation = 0});
  Read(file);
  EXPECT_FALSE(sink_.devices.at(0).has_correlation);
}

TEST_F(NsysDeviceTables, AnUnknownNameIsCountedAndTheKernelKept) {
  NsysBuilder file = File();
  file.Kernel("gemm", 300, 450, {}, {{"demangledName", 999'999}});
  Read(file);
  EXPECT_EQ(Name(sink_.devices.at(0).name), "(unknown name)");
  EXPECT_EQ(sink_.CountOf(DropReason::kBadString), 1);
}

TEST_F(NsysDeviceTables, WithoutProcessColumnEverythingIsOneProcess) {
  NsysBuilder file = File();
  file.Sql(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, \"end\" INTEGER, deviceId INTEGER, streamId INTEGER, "
      "correlationId INTEGER, demangledName INTEGER)");
  file.Sql(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 3, {})", file.String("gemm")));
  file.Api("cudaLaunchKernel_v7000", 1, 2, {.pid = 44, .correlation = 3});
  Read(file);
  ASSERT_EQ(sink_.context().processes.size(), 1u);
  EXPECT_EQ(sink_.context().processes[0].pid, -1);
  EXPECT_EQ(sink_.devices.at(0).process, sink_.apis.at(0).process);
}

TEST_F(NsysDeviceTables, EqualCorrelationsOfTwoProcessesStayApart) {
  NsysBuilder file = File();
  file.Kernel("gemm", 300, 450, {.pid = 1, .correlation = 5}).Kernel("gemm", 300, 450, {.pid = 2, .correlation = 5});
  file.Api("cudaLaunchKernel_v7000", 1, 2, {.pid = 2, .correlation = 5});
  Read(file);
  EXPECT_NE(sink_.devices.at(0).process, sink_.devices.at(1).process);
  EXPECT_EQ(sink_.apis.at(0).process, sink_.devices.at(1).process);
}

TEST_F(NsysDeviceTables, CopiesSayWhatMovedWhere) {
  NsysBuilder file = File();
  file.Memcpy(1, 4096, 10, 30, {}, {{"srcKind", 1}, {"dstKind", 2}});
  file.Memcpy(9, 64, 40, 50, {}).Memcpy(12, 64, 60, 70, {}).Memcpy(99, 64, 80, 90, {});
  Read(file);
  ASSERT_EQ(sink_.devices.size(), 4u);
  EXPECT_EQ(sink_.devices[0].copy_kind, CopyKind::kHostToDevice);
  EXPECT_EQ(sink_.devices[0].source_memory, MemoryKind::kPinned);
  EXPECT_EQ(sink_.devices[0].target_memory, MemoryKind::kDevice);
  EXPECT_EQ(sink_.devices[0].bytes, 4096);
  EXPECT_EQ(Name(sink_.devices[0].name), "[CUDA memcpy Host-to-Device]");
  EXPECT_EQ(sink_.devices[1].copy_kind, CopyKind::kHostToHost);
  EXPECT_EQ(sink_.devices[2].copy_kind, CopyKind::kUnifiedDeviceToHost);
  EXPECT_EQ(sink_.devices[3].copy_kind, CopyKind::kUnknown);
}

TEST_F(NsysDeviceTables, AMemsetKnowsItsBytes) {
  NsysBuilder file = File();
  file.Memset(256, 10, 30, {});
  Read(file);
  EXPECT_EQ(sink_.devices.at(0).kind, DeviceKind::kMemset);
  EXPECT_EQ(sink_.devices.at(0).bytes, 256);
}

TEST_F(NsysDeviceTables, ImpossibleByteCountsAreUnknown) {
  NsysBuilder file = File();
  file.Memcpy(1, -5, 10, 30, {}).Memcpy(1, INT64_MAX, 40, 50, {});
  Read(file);
  EXPECT_EQ(sink_.devices.at(0).bytes, kUnknownBytes);
  EXPECT_EQ(sink_.devices.at(1).bytes, kUnknownBytes);
}

void AddSpan(NsysBuilder& file, int64_t start, int64_t end, int64_t device) {
  file.Add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {{"start", start},
                                               {"end", end},
                                               {"deviceId", device},
                                               {"streamId", 7},
                                               {"correlationId", 3},
                                               {"globalPid", NsysGlobalId(100)},
                                               {"graphId", 12}});
}

TEST_F(NsysDeviceTables, AGraphLevelRowIsASpan) {
  NsysBuilder file = File();
  AddSpan(file, 100, 300, 0);
  Read(file);
  ASSERT_EQ(sink_.CountOf(DeviceKind::kGraphSpan), 1);
  EXPECT_EQ(Name(sink_.devices.at(0).name), "CUDA graph 12");
  EXPECT_EQ(sink_.devices.at(0).duration_ns, 200);
}

TEST_F(NsysDeviceTables, AGraphSpanWithoutTimesOrDeviceIsCountedAndDropped) {
  NsysBuilder file = File();
  AddSpan(file, 0, 0, 0);
  AddSpan(file, 100, 300, kIntMax);
  Read(file);
  EXPECT_TRUE(sink_.devices.empty());
  EXPECT_EQ(sink_.CountOf(DropReason::kZeroTime), 1);
  EXPECT_EQ(sink_.CountOf(DropReason::kBadNumber), 1);
}

TEST_F(NsysDeviceTables, RowsWithImpossibleTimesAreCountedByReasonWithTheirRow) {
  NsysBuilder file = File();
  file.Kernel("good", 300, 300, {});  // row 1: zero length is no error
  file.Kernel("backwards", 300, 200, {});
  file.Kernel("absurd", 300, INT64_MAX, {});
  file.Kernel("text", 300, 400, {}, {{"end", "soon"}});
  file.Kernel("early", INT64_MIN, 400, {});
  file.Kernel("an hour and a bit", 300, 3'600'000'000'301, {});
  Read(file);
  ASSERT_EQ(sink_.devices.size(), 1u);
  EXPECT_EQ(Name(sink_.devices[0].name), "good");
  EXPECT_THAT(sink_.drops, ElementsAre(std::pair(DropReason::kNegativeDuration, int64_t{2}),
                                       std::pair(DropReason::kAbsurdDuration, int64_t{3}),
                                       std::pair(DropReason::kBadNumber, int64_t{4}),
                                       std::pair(DropReason::kAbsurdDuration, int64_t{5}),
                                       std::pair(DropReason::kAbsurdDuration, int64_t{6})));
}

TEST_F(NsysDeviceTables, RealNumbersAreNoTimes) {
  NsysBuilder file = File();
  file.Kernel("real", 300, 400, {}, {{"start", 300.5}});
  Read(file);
  EXPECT_EQ(sink_.CountOf(DropReason::kBadNumber), 1);
}

TEST_F(NsysDeviceTables, SynchronisationRowsKeepTheirKindAndStream) {
  NsysBuilder file = File();
  for (const int64_t stream : {int64_t{7}, int64_t{4'294'967'295}}) {
    file.Add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {{"start", 10},
                                                     {"end", 30},
                                                     {"deviceId", 0},
                                                     {"streamId", stream},
                                                     {"correlationId", 8},
                                                     {"globalPid", NsysGlobalId(100)},
                                                     {"syncType", 3}});
  }
  Read(file);
  ASSERT_EQ(sink_.syncs.size(), 2u);
  EXPECT_EQ(sink_.syncs[0].kind, SyncKind::kStreamSync);
  EXPECT_EQ(sink_.syncs[0].stream, 7);
  EXPECT_EQ(sink_.syncs[0].duration_ns, 20);
  EXPECT_EQ(sink_.syncs[1].stream, -1);
}

void AddMemory(NsysBuilder& file, int64_t start, int64_t bytes, int64_t kind, int64_t operation) {
  file.Add("CUDA_GPU_MEMORY_USAGE_EVENTS", {{"start", start},
                                            {"globalPid", NsysGlobalId(100)},
                                            {"deviceId", 0},
                                            {"bytes", bytes},
                                            {"memKind", kind},
                                            {"memoryOperationType", operation}});
}

TEST_F(NsysDeviceTables, OnlyDeviceMemoryMovesTheAllocationLevel) {
  NsysBuilder file = File();
  AddMemory(file, 10, 100, 2, 0);
  AddMemory(file, 20, 50, 1, 0);
  AddMemory(file, 30, 100, 2, 1);
  Read(file);
  ASSERT_EQ(sink_.allocations.size(), 2u);
  EXPECT_EQ(sink_.allocations[0].delta_bytes, 100);
  EXPECT_EQ(sink_.allocations[1].delta_bytes, -100);
  EXPECT_EQ(sink_.allocations[1].time_ns, 30);
}

void AddOverhead(NsysBuilder& file, int64_t start, int64_t end, int64_t type) {
  file.Add("CUPTI_ACTIVITY_KIND_OVERHEAD", {{"start", start}, {"end", end}, {"overheadType", type}});
}

TEST_F(NsysDeviceTables, OverheadIsTheProfilersOwnInsideTheDeviceWindow) {
  NsysBuilder file = File();
  file.Kernel("first", 1000, 1100, {}).Kernel("last", 1900, 2000, {});
  AddOverhead(file, 0, 900, 4);      // before the first kernel
  AddOverhead(file, 900, 1200, 3);   // 200 of it inside
  AddOverhead(file, 1500, 1600, 8);  // command buffer full: the program's
  AddOverhead(file, 1700, 1750, 5);
  Read(file);
  EXPECT_EQ(sink_.context().overhead_ns, 250);
}

}  // namespace
}  // namespace lockstep
