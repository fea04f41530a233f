#include "tests/unit/agent/readers/nsys/nsys_fixture.h"

namespace lockstep {
namespace {

class NsysContext : public NsysTest {};

TEST_F(NsysContext, RelativeTimesGetTheSessionStartAsBase) {
  NsysBuilder file = File();
  file.Kernel("gemm", 300, 400, {});
  Read(file);
  EXPECT_TRUE(sink_.context().has_base);
  EXPECT_EQ(sink_.context().base_unix_ns, kEpoch);
  EXPECT_EQ(sink_.context().capture_start_ns, 0);
  EXPECT_EQ(sink_.context().capture_end_ns, 10'000'000'000);
}

TEST_F(NsysContext, NormalizedTimesAreAbsolute) {
  NsysBuilder file = File();
  file.Exported("EXPORT_PARAM_TIME_NORMALIZE", "true").Kernel("gemm", kEpoch + 300, kEpoch + 400, {});
  Read(file);
  EXPECT_FALSE(sink_.context().has_base);
  EXPECT_EQ(sink_.context().base_unix_ns, 0);
  EXPECT_EQ(sink_.context().capture_start_ns, kEpoch);
  EXPECT_EQ(sink_.context().capture_end_ns, kEpoch + 10'000'000'000);
}

TEST_F(NsysContext, WithoutTheKeyTheTimesThemselvesTellThatTheyAreAbsolute) {
  NsysBuilder file = File(NsysSchema::k3_13);
  file.Kernel("gemm", kEpoch + 300, kEpoch + 400, {});
  Read(file);
  EXPECT_FALSE(sink_.context().has_base);
  EXPECT_EQ(sink_.devices.at(0).start_ns, kEpoch + 300);
}

TEST_F(NsysContext, WithoutASessionStartThereIsNoBaseAndAWordAboutIt) {
  NsysBuilder file(Path("bare.sqlite"), NsysSchema::k3_25);
  file.Kernel("gemm", 300, 400, {});
  Read(file);
  EXPECT_FALSE(sink_.context().has_base);
  EXPECT_NE(Diagnostics().find("no session start"), std::string::npos);
}

TEST_F(NsysContext, AnAbsurdSessionStartIsCountedAndNotUsed) {
  NsysBuilder file(Path("absurd.sqlite"), NsysSchema::k3_25);
  file.Session(INT64_MAX, 100).Kernel("gemm", 300, 400, {});
  Read(file);
  EXPECT_FALSE(sink_.context().has_base);
  EXPECT_EQ(sink_.CountOf(DropReason::kBadNumber), 1);
}

TEST_F(NsysContext, VersionsAndHostAreKept) {
  NsysBuilder file = File(NsysSchema::k3_25);
  file.System("Hostname", "node7").System("NvDriverVersion", "580.95.05").System("CudaDriverVersion", "11050");
  Read(file);
  EXPECT_EQ(sink_.context().host, "node7");
  EXPECT_EQ(sink_.context().versions["driver"], "580.95.05");
  EXPECT_EQ(sink_.context().versions["cuda"], "11.5");
  EXPECT_EQ(sink_.context().tool_version, "2099.1.1.1");
  EXPECT_EQ(sink_.context().schema_version, "3.25.0");
}

TEST_F(NsysContext, WithoutMetadataTheInstallFolderTellsTheVersion) {
  NsysBuilder file(Path("old.sqlite"), NsysSchema::k2_7);
  file.System("TargetInstallDir", "/opt/nvidia/nsight-systems/2021.3.3/target-linux-x64");
  Read(file);
  EXPECT_EQ(sink_.context().tool_version, "2021.3.3");
}

TEST_F(NsysContext, ABareOptionKeyWinsOverAPrefixedOne) {
  NsysBuilder file = File();
  file.Captured("CUDA_SKIP_SOME_API_CALLS", "true").Captured("PROCESS_0:CUDA_SKIP_SOME_API_CALLS", "false");
  file.Captured("PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE", "Node");
  Read(file);
  EXPECT_EQ(sink_.context().options["cuda_skip_some_api_calls"], "true");
  EXPECT_EQ(sink_.context().options["cuda_graph_trace"], "node");
}

TEST_F(NsysContext, TheSessionDependsOnTheCaptureAndNotOnThePath) {
  NsysBuilder one = File(NsysSchema::k3_25, "one.sqlite");
  Read(one);
  const std::string first = sink_.context().session;
  sink_ = CollectingSink();
  NsysBuilder same = File(NsysSchema::k3_25, "same.sqlite");
  Read(same);
  EXPECT_EQ(sink_.context().session, first);
  sink_ = CollectingSink();
  NsysBuilder other = File(NsysSchema::k3_25, "other.sqlite");
  other.Captured("PROFILING_SESSION_UUID", "b");
  Read(other);
  EXPECT_NE(sink_.context().session, first);
}

TEST_F(NsysContext, FilesWithoutSessionStartAreDifferentSessionsIfTheirContentDiffers) {
  NsysBuilder one(Path("one.sqlite"), NsysSchema::k3_25);
  Read(one.Kernel("gemm", 300, 400, {}));
  const std::string first = sink_.context().session;
  sink_ = CollectingSink();
  NsysBuilder other(Path("other.sqlite"), NsysSchema::k3_25);
  Read(other.Kernel("gemm", 300, 500, {}));
  EXPECT_NE(sink_.context().session, first);
  EXPECT_FALSE(first.empty());
}

TEST_F(NsysContext, TheEnvironmentOfOneProcessClaimsItsRank) {
  NsysBuilder file = File();
  file.Captured("PROCESS_0:ENVIRONMENT_VARIABLE", "SLURM_PROCID=\"4\"");
  file.Captured("PROCESS_0:ENVIRONMENT_VARIABLE", "SLURM_NTASKS=\"9\"").Kernel("gemm", 1, 2, {});
  Read(file);
  const ProcessInfo& process = sink_.context().processes.at(0);
  ASSERT_EQ(process.claims.size(), 1u);
  EXPECT_EQ(process.claims[0], (RankClaim{4, RankSource::kEnvironment}));
  EXPECT_EQ(process.world_size, 9);
}

TEST_F(NsysContext, RankGoesBeforeSlurm) {
  NsysBuilder file = File();
  file.Captured("ENVIRONMENT_VARIABLE", "SLURM_PROCID=0").Captured("ENVIRONMENT_VARIABLE", "RANK=3");
  file.Captured("ENVIRONMENT_VARIABLE", "WORLD_SIZE=8").Kernel("gemm", 1, 2, {});
  Read(file);
  EXPECT_EQ(sink_.context().processes.at(0).claims.at(0).rank, 3);
  EXPECT_EQ(sink_.context().processes[0].world_size, 8);
}

TEST_F(NsysContext, TheEnvironmentSaysNothingAboutTwoProcesses) {
  NsysBuilder file = File();
  file.Captured("ENVIRONMENT_VARIABLE", "RANK=3").Kernel("gemm", 1, 2, {.pid = 1}).Kernel("gemm", 1, 2, {.pid = 2});
  Read(file);
  for (const ProcessInfo& process : sink_.context().processes) EXPECT_TRUE(process.claims.empty());
}

TEST_F(NsysContext, ContradictingEnvironmentsClaimNothing) {
  NsysBuilder file = File();
  file.Captured("PROCESS_0:ENVIRONMENT_VARIABLE", "RANK=3").Captured("PROCESS_1:ENVIRONMENT_VARIABLE", "RANK=4");
  file.Kernel("gemm", 1, 2, {});
  Read(file);
  EXPECT_TRUE(sink_.context().processes.at(0).claims.empty());
}

TEST_F(NsysContext, ANonsensicalRankIsNoClaim) {
  NsysBuilder file = File();
  file.Captured("ENVIRONMENT_VARIABLE", "RANK=-1").Captured("ENVIRONMENT_VARIABLE", "SLURM_PROCID=12abc");
  Read(file.Kernel("gemm", 1, 2, {}));
  EXPECT_TRUE(sink_.context().processes.at(0).claims.empty());
}

TEST_F(NsysContext, TheJoinedEnvironmentServesWhereSingleRowsAreMissing) {
  NsysBuilder file = File(NsysSchema::k3_0);
  file.System("DeviceEnvironment", "PATH=/bin;OMPI_COMM_WORLD_RANK=2;OMPI_COMM_WORLD_SIZE=4;API_TOKEN=s3cret");
  file.Kernel("gemm", 1, 2, {});
  Read(file);
  EXPECT_EQ(sink_.context().processes.at(0).claims.at(0).rank, 2);
  EXPECT_EQ(sink_.context().processes[0].world_size, 4);
}

TEST_F(NsysContext, SecretsOfTheEnvironmentAreNowhereInWhatIsRead) {
  NsysBuilder file = File();
  file.Captured("PROCESS_0:ENVIRONMENT_VARIABLE", "API_TOKEN=s3cret").Captured("PROCESS_0:ARGUMENT_0", "--key=s3cret");
  file.System("DeviceEnvironment", "API_TOKEN=s3cret").Table("ProcessStreams");
  Read(file);
  std::string all = sink_.Dump() + Diagnostics() + sink_.context().host + sink_.context().session;
  for (const auto& [key, value] : sink_.context().options) all += key + value;
  for (const auto& [key, value] : sink_.context().versions) all += key + value;
  EXPECT_EQ(all.find("s3cret"), std::string::npos);
}

TEST_F(NsysContext, MpiRanksAreTrustedMoreThanTheEnvironment) {
  NsysBuilder file = File();
  file.Captured("ENVIRONMENT_VARIABLE", "RANK=3").Kernel("gemm", 1, 2, {.pid = 100});
  file.Add("MPI_RANKS", {{"globalTid", NsysGlobalId(100, 101)}, {"rank", 5}});
  Read(file);
  const std::vector<RankClaim>& claims = sink_.context().processes.at(0).claims;
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_EQ(claims[0], (RankClaim{5, RankSource::kMpi}));
  EXPECT_EQ(claims[1], (RankClaim{3, RankSource::kEnvironment}));
}

void AddGpu(NsysBuilder& file, int64_t id, std::string name, std::string uuid) {
  file.Add("TARGET_INFO_GPU", {{"id", id},
                               {"name", std::move(name)},
                               {"uuid", std::move(uuid)},
                               {"busLocation", "0000:0" + std::to_string(id) + ":00.0"},
                               {"smCount", 132},
                               {"memoryBandwidth", 3'000'000'000'000}});
}

TEST_F(NsysContext, TheCudaDeviceTableResolvesOrdinalsPerProcess) {
  NsysBuilder file = File(NsysSchema::k3_25);
  AddGpu(file, 1, "H100", "bbbb");
  AddGpu(file, 0, "H100", "aaaa");
  file.Add("TARGET_INFO_CUDA_DEVICE", {{"gpuId", 1}, {"cudaId", 0}, {"pid", 100}});
  file.Captured("ENVIRONMENT_VARIABLE", "CUDA_VISIBLE_DEVICES=1").Kernel("gemm", 1, 2, {.pid = 100, .device = 0});
  Read(file);
  ASSERT_EQ(sink_.context().devices.size(), 1u);
  const DeviceInfo& device = sink_.context().devices[0];
  EXPECT_EQ(device.ordinal, 0);
  EXPECT_EQ(device.pid, 100);
  EXPECT_EQ(device.uuid, "GPU-bbbb");
  EXPECT_EQ(device.pci_bus, "0000:01:00.0");
  EXPECT_EQ(device.sm_count, 132);
  EXPECT_EQ(device.memory_bandwidth_bytes_per_s, 3'000'000'000'000);
}

TEST_F(NsysContext, WithoutThatTableOrdinalsCountTheGpusIfNoneIsHidden) {
  NsysBuilder file = File(NsysSchema::k3_7);
  AddGpu(file, 0, "H100", "aaaa");
  AddGpu(file, 1, "A100", "bbbb");
  file.Captured("ENVIRONMENT_VARIABLE", "CUDA_VISIBLE_DEVICES=\"0,1\"").Kernel("gemm", 1, 2, {.device = 1});
  Read(file);
  ASSERT_EQ(sink_.context().devices.size(), 1u);
  EXPECT_EQ(sink_.context().devices[0].uuid, "GPU-bbbb");
}

TEST_F(NsysContext, HiddenGpusLeaveOnlyTheModelThatAllShare) {
  NsysBuilder file = File(NsysSchema::k3_7);
  AddGpu(file, 0, "H100", "aaaa");
  AddGpu(file, 1, "H100", "bbbb");
  file.Captured("ENVIRONMENT_VARIABLE", "CUDA_VISIBLE_DEVICES=1").Kernel("gemm", 1, 2, {.device = 0});
  Read(file);
  ASSERT_EQ(sink_.context().devices.size(), 1u);
  EXPECT_EQ(sink_.context().devices[0].name, "H100");
  EXPECT_EQ(sink_.context().devices[0].uuid, "");
  EXPECT_EQ(sink_.context().devices[0].pci_bus, "");
}

TEST_F(NsysContext, HiddenGpusOfDifferentModelsStayUnknown) {
  NsysBuilder file = File(NsysSchema::k3_7);
  AddGpu(file, 0, "H100", "aaaa");
  AddGpu(file, 1, "A100", "bbbb");
  file.Captured("ENVIRONMENT_VARIABLE", "CUDA_VISIBLE_DEVICES=1").Kernel("gemm", 1, 2, {.device = 0});
  Read(file);
  EXPECT_TRUE(sink_.context().devices.empty());
}

TEST_F(NsysContext, WarningsOfTheCaptureAreShownCutAndInformationIsNot) {
  NsysBuilder file = File();
  const auto say = [&](int64_t severity, const std::string& text) {
    file.Add("DIAGNOSTIC_EVENT", {{"severity", severity}, {"text", text}});
  };
  say(1, "all is well");
  say(2, "low disk" + std::string(500, '!'));
  say(3, "broken\nline");
  say(1, "12 events were dropped");
  Read(file);
  EXPECT_EQ(Diagnostics().find("all is well"), std::string::npos);
  EXPECT_NE(Diagnostics().find("nsys warning: low disk!"), std::string::npos);
  EXPECT_NE(Diagnostics().find("nsys error: broken line"), std::string::npos);
  EXPECT_NE(Diagnostics().find("12 events were dropped"), std::string::npos);
  for (const std::string& line : sink_.context().diagnostics) EXPECT_LE(line.size(), 200u);
}

}  // namespace
}  // namespace lockstep
