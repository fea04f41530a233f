// What the rows of a sound trace become.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/base/time.h"
#include "tests/unit/agent/readers/kineto/read_text.h"

namespace lockstep {
namespace {

TEST(KinetoReader, AKernelKeepsTimesIdsAndShape) {
  const auto reading =
      ReadText(Trace(Kernel("gemm", "4458677009853.422", "2636.669",
                            R"(,"External id":12945,"grid":[8,1,2],"block":[544,1,1],"graph node id":9)")));
  ASSERT_TRUE(reading->whole()) << reading->why();
  ASSERT_EQ(reading->sink.devices.size(), 1U);
  const DeviceRecord& r = reading->sink.devices[0];
  EXPECT_EQ(r.kind, DeviceKind::kKernel);
  EXPECT_EQ(r.start_ns, 4458677009853422);
  EXPECT_EQ(r.duration_ns, 2636669);
  EXPECT_EQ(r.correlation, 5U);
  EXPECT_TRUE(r.has_correlation);
  EXPECT_EQ(r.external_id, 12945U);
  EXPECT_EQ(r.stream, 7);
  EXPECT_EQ(r.graph_node, 9U);
  EXPECT_TRUE(r.from_graph);
  EXPECT_EQ(reading->sink.NameOf(r.name), "gemm");
  EXPECT_EQ(reading->sink.shapes.at(r.shape), (LaunchShape{{8, 1, 2}, {544, 1, 1}}));
  EXPECT_EQ(r.meta, kNoId);
}

TEST(KinetoReader, KeysInAnyOrderGiveTheSameRecord) {
  const auto usual = ReadText(Trace(
      R"({"ph":"X","cat":"kernel","name":"k","pid":3,"tid":7,"ts":1.5,"dur":2,"args":{"stream":7,"correlation":1}})"));
  const auto turned = ReadText(Trace(
      R"({"args":{"correlation":1,"stream":7},"dur":2,"ts":1.5,"tid":7,"pid":3,"name":"k","cat":"kernel","ph":"X"})"));
  EXPECT_EQ(usual->sink.Dump(), turned->sink.Dump());
  EXPECT_EQ(usual->sink.devices.size(), 1U);
}

TEST(KinetoReader, WithoutArgumentsDeviceAndStreamComeFromPidAndTid) {
  const auto reading =
      ReadText(R"([{"ph":"X","cat":"Kernel","name":"k","pid":2,"tid":"stream 23","ts":"10","dur":"1"}])");
  ASSERT_EQ(reading->sink.devices.size(), 1U);
  EXPECT_EQ(reading->sink.devices[0].device, 2);
  EXPECT_EQ(reading->sink.devices[0].stream, 23);
  EXPECT_FALSE(reading->sink.devices[0].has_correlation);
}

std::string LabelledKernel(std::string_view pid, std::string_view ts) {
  std::string text = R"({"ph":"X","cat":"kernel","name":"k","pid":")";
  text += pid;
  text += R"(","tid":7,"ts":)";
  text += ts;
  text += R"(,"dur":1,"args":{"stream":7,"correlation":5}})";
  return text;
}

TEST(KinetoReader, AFileThatLabelsItsProcessIdsIsOneProcessForEachLabel) {
  const std::string events =
      LabelledKernel("[TP02] 3", "1") + "," + LabelledKernel("[TP11] 0", "2") + "," + LabelledKernel("[TP02] 3", "3");
  const auto reading = ReadText(Trace(events, "", R"(,"distributedInfo":{"rank":0,"world_size":16})"));
  ASSERT_TRUE(reading->whole()) << reading->why();
  ASSERT_EQ(reading->sink.devices.size(), 3U);
  EXPECT_EQ(reading->sink.devices[0].device, 3);
  EXPECT_EQ(reading->sink.devices[0].process, reading->sink.devices[2].process);
  EXPECT_NE(reading->sink.devices[0].process, reading->sink.devices[1].process);
  const std::vector<ProcessInfo>& processes = reading->sink.context().processes;
  ASSERT_EQ(processes.size(), 2U);
  const std::vector<int32_t> ranks = {2, 11};
  for (size_t i = 0; i < 2; ++i) {
    const ProcessInfo& process = processes[reading->sink.devices[i].process];
    ASSERT_EQ(process.claims.size(), 1U);
    EXPECT_EQ(process.claims[0].rank, ranks[i]);
    EXPECT_EQ(process.world_size, 16);
  }
}

TEST(KinetoReader, OneLabelIsOfTheRankThatTheMetadataTells) {
  const auto reading =
      ReadText(Trace(LabelledKernel("[TP02] 3", "1"), "", R"(,"distributedInfo":{"rank":6,"world_size":8})"));
  ASSERT_EQ(reading->sink.context().processes.size(), 1U);
  EXPECT_EQ(reading->sink.context().processes[0].claims.at(0).rank, 6);
}

TEST(KinetoReader, OfDuplicateKeysTheLastCounts) {
  const auto reading = ReadText(Trace(
      R"({"ph":"X","cat":"kernel","name":"a","name":"b","pid":0,"tid":7,"ts":1,"ts":2,"dur":1,"args":{"stream":1,"stream":4}})"));
  ASSERT_EQ(reading->sink.devices.size(), 1U);
  EXPECT_EQ(reading->sink.NameOf(reading->sink.devices[0].name), "b");
  EXPECT_EQ(reading->sink.devices[0].start_ns, 2000);
  EXPECT_EQ(reading->sink.devices[0].stream, 4);
}

TEST(KinetoReader, CopiesAndMemsetsKeepBytesAndMemories) {
  const auto reading = ReadText(Trace(
      R"j({"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoH (Device -> Pageable)","pid":0,"tid":7,"ts":1,"dur":1,)j"
      R"j("args":{"bytes":1048576,"memory bandwidth (GB/s)":inf}},)j"
      R"j({"ph":"X","cat":"Memset","name":"Memset (Device)","pid":0,"tid":7,"ts":3,"dur":1,"args":{"bytes":8}})j"));
  ASSERT_EQ(reading->sink.devices.size(), 2U);
  EXPECT_EQ(reading->sink.devices[0].bytes, 1048576);
  EXPECT_EQ(reading->sink.devices[0].copy_kind, CopyKind::kDeviceToHost);
  EXPECT_EQ(reading->sink.devices[0].target_memory, MemoryKind::kPageable);
  EXPECT_EQ(reading->sink.devices[1].kind, DeviceKind::kMemset);
  EXPECT_EQ(reading->sink.devices[1].target_memory, MemoryKind::kDevice);
}

TEST(KinetoReader, RuntimeAndDriverCallsBecomeApiRecords) {
  const auto reading = ReadText(Trace(
      R"({"ph":"X","cat":"cuda_runtime","name":"hipGraphLaunch","pid":9,"tid":-5,"ts":1,"dur":2,"args":{"correlation":3,"External id":4}},)"
      R"({"ph":"X","cat":"cuda_driver","name":"cuLaunchKernel","pid":9,"tid":8,"ts":5,"dur":2,"args":{"correlation":6}})"));
  ASSERT_EQ(reading->sink.apis.size(), 2U);
  EXPECT_EQ(reading->sink.apis[0].kind, ApiKind::kGraphLaunch);
  EXPECT_EQ(reading->sink.apis[0].tid, -5);
  EXPECT_EQ(reading->sink.apis[0].external_id, 4U);
  EXPECT_FALSE(reading->sink.apis[0].is_driver);
  EXPECT_TRUE(reading->sink.apis[1].is_driver);
  EXPECT_EQ(reading->sink.context().api_rows, 2);
}

constexpr const char* kAnnotations =
    R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#41","pid":9,"tid":1,"ts":1,"dur":10},)"
    R"({"ph":"X","cat":"Operator","name":"ProfilerStep#42","pid":9,"tid":1,"ts":11,"dur":10},)"
    R"({"ph":"X","cat":"user_annotation","name":"decode","pid":9,"tid":1,"ts":2,"dur":3},)"
    R"({"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#41","pid":0,"tid":7,"ts":1,"dur":10},)"
    R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":1,"ts":2,"dur":1})";

TEST(KinetoReader, ProfilerStepsAreStepsAndOtherAnnotationsRanges) {
  const auto reading = ReadText(Trace(kAnnotations));
  ASSERT_EQ(reading->sink.hosts.size(), 3U);
  EXPECT_EQ(reading->sink.hosts[0].kind, HostKind::kStep);
  EXPECT_EQ(reading->sink.hosts[0].step_number, 41);
  EXPECT_EQ(reading->sink.hosts[1].step_number, 42);
  EXPECT_EQ(reading->sink.hosts[2].kind, HostKind::kRange);
}

TEST(KinetoReader, WhatAutogradRunsIsOneKindOfRangeAndOptimizerStepsKeepTheirNames) {
  const auto reading = ReadText(Trace(
      R"({"ph":"X","cat":"cpu_op","name":"autograd::engine::evaluate_function: MmBackward0","pid":9,"tid":2,"ts":1,"dur":2},)"
      R"({"ph":"X","cat":"cpu_op","name":"autograd::engine::evaluate_function: AddBackward0","pid":9,"tid":2,"ts":4,"dur":2},)"
      R"({"ph":"X","cat":"Operator","name":"Optimizer.step#SGD.step","pid":9,"tid":1,"ts":7,"dur":2})"));
  std::vector<std::string> names;
  for (const HostRecord& r : reading->sink.hosts) names.emplace_back(reading->sink.NameOf(r.name));
  EXPECT_EQ(names, (std::vector<std::string>{"autograd::engine::evaluate_function",
                                             "autograd::engine::evaluate_function", "Optimizer.step#SGD.step"}));
  EXPECT_EQ(reading->sink.CountOf(HostKind::kRange), 3);
}

TEST(KinetoReader, AChosenStepRangeReplacesProfilerSteps) {
  ReadOptions options;
  options.step_range = "decode";
  const auto reading = ReadText(Trace(kAnnotations), options);
  EXPECT_EQ(reading->sink.CountOf(HostKind::kStep), 1);
  for (const HostRecord& r : reading->sink.hosts) {
    if (r.kind == HostKind::kStep) {
      EXPECT_EQ(reading->sink.NameOf(r.name), "decode");
      EXPECT_EQ(r.step_number, -1);
    }
  }
}

TEST(KinetoReader, CommParamsBecomeCollectivesWithMetadata) {
  const auto reading = ReadText(Trace(
      R"({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":9,"tid":3,"ts":1,"dur":2,"args":{"External id":2099,)"
      R"("Collective name":"_allgather_base","dtype":"BFloat16","In msg nelems":100,"Out msg nelems":800,"Group size":8,)"
      R"("Process Group Name":"3","Process Group Description":"mesh_tp","Process Group Ranks":"[7, 6, 5, 4, 3, 2, 1, 0]",)"
      R"("Seq":17,"Comms Id":10159970886766084423}})"));
  ASSERT_EQ(reading->sink.hosts.size(), 1U);
  const HostRecord& r = reading->sink.hosts[0];
  EXPECT_EQ(r.kind, HostKind::kCollective);
  EXPECT_EQ(r.seq, 17);
  EXPECT_TRUE(r.has_comms_id);
  EXPECT_EQ(r.comms_id, 10159970886766084423ULL);
  const CollectiveMeta& meta = reading->sink.metas.at(r.meta);
  EXPECT_EQ(meta.op, CollectiveOp::kAllGather);
  EXPECT_EQ(meta.dtype, DataType::kBfloat16);
  EXPECT_EQ(meta.bytes, 200);
  EXPECT_EQ(meta.group_name, "3");
  EXPECT_EQ(meta.group_desc, "mesh_tp");
  EXPECT_EQ(meta.members, (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

CollectiveMeta MetaOf(const std::string& args) {
  const auto reading = ReadText(Trace(Kernel("ncclDevKernel_X", "1", "1", "," + args)));
  return reading->sink.metas.empty() ? CollectiveMeta() : reading->sink.metas[0];
}

TEST(KinetoReader, AReduceScatterCountsWhatARankReceives) {
  EXPECT_EQ(MetaOf(R"("Collective name":"_reduce_scatter_base","dtype":"Float","In msg nelems":80,"Out msg nelems":10)")
                .bytes,
            40);
}

TEST(KinetoReader, TheOldestSpellingOfTheMessageSizeIsRead) {
  EXPECT_EQ(MetaOf(R"("Collective name":"allreduce","dtype":"Half","In msg size":16,"Out msg size":16)").bytes, 32);
}

TEST(KinetoReader, AnOverflowingMessageSizeIsUnknown) {
  EXPECT_EQ(MetaOf(R"("Collective name":"allreduce","dtype":"Double","In msg nelems":9223372036854775807)").bytes,
            kUnknownBytes);
}

TEST(KinetoReader, PeersOfPointToPointAreTaken) {
  EXPECT_EQ(MetaOf(R"("Collective name":"send","Dst Rank":3)").peer, 3);
  EXPECT_EQ(MetaOf(R"("Collective name":"recv","Src Rank":2)").peer, 2);
  EXPECT_EQ(MetaOf(R"("Collective name":"allreduce","Src Rank":2)").peer, -1);
}

TEST(KinetoReader, AnElidedRankListIsMarkedAndNotTakenForTheGroup) {
  const CollectiveMeta meta = MetaOf(
      R"("Collective name":"allreduce","Group size":64,"Process Group Name":"0","Process Group Ranks":"[0, 1, 2, ...]")");
  EXPECT_TRUE(meta.members_elided);
  EXPECT_TRUE(meta.members.empty());
  EXPECT_EQ(meta.group_size, 64);
}

TEST(KinetoReader, StartAndStrideExpandAnElidedRankList) {
  const CollectiveMeta meta = MetaOf(
      R"("Collective name":"allreduce","Group size":4,"Process Group Name":"1","Process Group Ranks":"[1, 3, ..., 7]",)"
      R"("Global rank start":1,"Global rank stride":2)");
  EXPECT_FALSE(meta.members_elided);
  EXPECT_EQ(meta.members, (std::vector<int32_t>{1, 3, 5, 7}));
}

TEST(KinetoReader, StartAndStrideThatContradictTheListAreNotBelieved) {
  const CollectiveMeta meta = MetaOf(
      R"("Collective name":"allreduce","Group size":4,"Process Group Name":"1","Process Group Ranks":"[1, 4, ..., 9]",)"
      R"("Global rank start":1,"Global rank stride":2)");
  EXPECT_TRUE(meta.members_elided);
  EXPECT_TRUE(meta.members.empty());
}

TEST(KinetoReader, SynchronisationRowsKeepTheirStreamFromTheArguments) {
  const auto reading = ReadText(Trace(
      R"({"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":1000007,"ts":1,"dur":4,"args":{"stream":7,"device":0,"correlation":24}})"));
  ASSERT_EQ(reading->sink.syncs.size(), 1U);
  EXPECT_EQ(reading->sink.syncs[0].kind, SyncKind::kStreamSync);
  EXPECT_EQ(reading->sink.syncs[0].stream, 7);
}

TEST(KinetoReader, GpuMemoryEventsBecomeAllocations) {
  const auto reading = ReadText(Trace(
      R"({"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":5,"args":{"Bytes":-512,"Device Id":3,"Device Type":1}},)"
      R"({"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":6,"args":{"Bytes":64,"Device Id":-1,"Device Type":0}})"));
  ASSERT_EQ(reading->sink.allocations.size(), 1U);
  EXPECT_EQ(reading->sink.allocations[0].delta_bytes, -512);
  EXPECT_EQ(reading->sink.allocations[0].device, 3);
}

TEST(KinetoReader, OverheadIsSummed) {
  const auto reading =
      ReadText(Trace(R"({"ph":"X","cat":"overhead","name":"Lazy Function Loading","pid":-1,"tid":0,"ts":1,"dur":1.5},)"
                     R"({"ph":"X","cat":"overhead","name":"Buffer Flush","pid":-1,"tid":0,"ts":9,"dur":0.25})"));
  EXPECT_EQ(reading->sink.context().overhead_ns, 1750);
}

TEST(KinetoReader, TheCaptureIsTheSpanOfHostRows) {
  const auto reading =
      ReadText(Trace(R"({"ph":"X","cat":"python_function","name":"f","pid":9,"tid":1,"ts":2,"dur":90},)"
                     R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":1,"ts":3,"dur":1},)" +
                     Kernel("k", "500", "1")));
  EXPECT_EQ(reading->sink.context().capture_start_ns, 2000);
  EXPECT_EQ(reading->sink.context().capture_end_ns, 92000);
}

TEST(KinetoReader, TheProcessIsTheOneWithMostRuntimeCalls) {
  const auto reading =
      ReadText(Trace(R"({"ph":"X","cat":"cuda_runtime","name":"cudaMalloc","pid":4,"tid":1,"ts":1,"dur":1},)"
                     R"({"ph":"X","cat":"cuda_runtime","name":"cudaMalloc","pid":77,"tid":1,"ts":2,"dur":1},)"
                     R"({"ph":"X","cat":"cuda_runtime","name":"cudaMalloc","pid":77,"tid":1,"ts":3,"dur":1})"));
  ASSERT_EQ(reading->sink.context().processes.size(), 1U);
  EXPECT_EQ(reading->sink.context().processes[0].pid, 77);
  EXPECT_EQ(reading->sink.context().diagnostics.size(), 1U);
}

constexpr const char* kHead =
    R"("schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA B200","numSms":148},{"id":1,"name":"NVIDIA B200"}],)"
    R"("cuda_runtime_version":12090,"cuda_driver_version":"13000","hip_runtime_version":60443483,"with_stack":1,)"
    R"("host_name":"node-4","unknown":{"deep":[1,2,{"traceEvents":[{}]}]},)"
    R"("distributedInfo":{"backend":"nccl","rank":3,"world_size":8,"pg_count":70,"nccl_version":"2.27.5","pg_config":[)"
    R"({"pg_name":"0","pg_desc":"default_pg","backend_config":"cuda:nccl","pg_size":8,"ranks":[0,1,2,3,4,5,6,7]},)"
    R"({"pg_name":"12","uid":1,"ranks":"[3, 1]"}]},)";
constexpr const char* kTail =
    R"(,"baseTimeNanoseconds":1711964646000000000,"WARNING":["lost 3 records"],"traceName":"a]}b")";

void ExpectHead(const FileContext& context) {
  ASSERT_EQ(context.processes.size(), 1U);
  const ProcessInfo& process = context.processes[0];
  EXPECT_EQ(process.claims, (std::vector<RankClaim>{{3, RankSource::kMetadata}}));
  EXPECT_EQ(process.world_size, 8);
  ASSERT_EQ(process.groups.size(), 2U);
  EXPECT_EQ(process.groups[0].desc, "default_pg");
  EXPECT_EQ(process.groups[0].own_rank, 3);
  EXPECT_EQ(process.groups[1].name, "12");
  EXPECT_EQ(process.groups[1].members, (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(process.groups[1].size, 2);
}

TEST(KinetoReader, MetadataBeforeTheEventsIsTaken) {
  const auto reading = ReadText(Trace(Kernel("k", "1", "1"), kHead, kTail));
  ASSERT_TRUE(reading->whole()) << reading->why();
  const FileContext& context = reading->sink.context();
  ExpectHead(context);
  EXPECT_EQ(context.format, "kineto");
  EXPECT_EQ(context.schema_version, "1");
  EXPECT_EQ(context.host, "node-4");
  ASSERT_EQ(context.devices.size(), 2U);
  EXPECT_EQ(context.devices[0].name, "NVIDIA B200");
  EXPECT_EQ(context.devices[0].sm_count, 148);
  EXPECT_EQ(context.devices[1].ordinal, 1);
  EXPECT_EQ(context.versions.at("cuda"), "12.9");
  EXPECT_EQ(context.versions.at("driver"), "13.0");
  EXPECT_EQ(context.versions.at("hip"), "6.4.43483");
  EXPECT_EQ(context.versions.at("nccl"), "2.27.5");
  EXPECT_EQ(context.options.at("with_stack"), "1");
}

TEST(KinetoReader, MetadataAfterTheEventsIsTakenAsWell) {
  std::string head(kHead);
  head.pop_back();
  const auto reading = ReadText(Trace(Kernel("k", "1", "1"), "", "," + head + kTail));
  ASSERT_TRUE(reading->whole()) << reading->why();
  ExpectHead(reading->sink.context());
  EXPECT_TRUE(reading->sink.context().has_base);
  EXPECT_EQ(reading->sink.context().base_unix_ns, 1711964646000000000);
  EXPECT_EQ(reading->sink.context().diagnostics, (std::vector<std::string>{"lost 3 records"}));
}

TEST(KinetoReader, WithoutBaseTimesAreAbsolute) {
  const auto reading = ReadText(Trace(Kernel("k", "1694128201429795", "2146")));
  EXPECT_FALSE(reading->sink.context().has_base);
  EXPECT_EQ(reading->sink.devices.at(0).start_ns, 1694128201429795000);
}

TEST(KinetoReader, ByteOrderMarkAndLeadingNewlinesAreSteppedOver) {
  EXPECT_EQ(ReadText("\xEF\xBB\xBF\n\n " + Trace(Kernel("k", "1", "1")))->sink.devices.size(), 1U);
}

TEST(KinetoReader, ABareArrayMayLackItsClosingBracket) {
  const auto reading = ReadText("[\n" + Kernel("k", "1", "1") + ",\n" + Kernel("l", "2", "1") + ",\n");
  ASSERT_TRUE(reading->whole()) << reading->why();
  EXPECT_EQ(reading->sink.devices.size(), 2U);
}

TEST(KinetoReader, AStatusOfTheSinkIsPassedOn) {
  CollectingSink sink;
  sink.FailAfter(1, absl::ResourceExhaustedError("no room"));
  const std::string text = Trace(Kernel("k", "1", "1") + "," + Kernel("l", "2", "1"));
  const auto source = MemoryByteSource(text);
  const auto result = ReadKineto(*source, "t", ReadOptions(), sink);
  EXPECT_EQ(result.status(), absl::ResourceExhaustedError("no room"));
}

TEST(KinetoReader, ProgressMayStopTheReading) {
  ReadOptions options;
  options.progress = [](int64_t, int64_t) { return false; };
  EXPECT_EQ(ReadText(Trace(Kernel("k", "1", "1")), options)->result.status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace lockstep
