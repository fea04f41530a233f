#include "bench/simulator/nsys/nsys_target_info.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "analysis/base/status_macros.h"
#include "bench/simulator/nsys/nsys_schema.h"
#include "bench/simulator/nsys/nsys_table.h"

namespace lockstep {
namespace {

constexpr int64_t kGlobalVid = int64_t{1} << 48;
constexpr int64_t kSystemClockNs = 4'512'345'678'901;

std::string Uuid(const CounterRng& rng, int32_t rank) {
  const uint64_t a = rng.Bits({.rank = rank, .step = 0, .purpose = Purpose::kUuid});
  const uint64_t b = rng.Bits({.rank = rank, .step = 1, .purpose = Purpose::kUuid});
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xffff, a & 0xffff, b >> 48,
                     b & 0xffff'ffff'ffff);
}

absl::Status WriteExport(Database& db, const SimulatorOptions& options) {
  const int minor = options.nsys_schema_minor;
  const NsysRelease& release = NsysReleaseOf(minor);
  NsysTable table(&db, minor, minor < 7 ? "EXPORT_META_DATA" : "META_DATA_EXPORT", {"name", "value"});
  const bool payload = minor >= 13 && options.ids != IdLevel::kNames;
  const std::array<std::pair<std::string_view, std::string_view>, 9> rows = {{
      {"EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"},
      {"EXPORT_PRODUCT_VERSION", release.product_version},
      {"EXPORT_PRODUCT_DATE", release.product_date},
      {"EXPORT_SCHEMA_VERSION", release.schema},
      {"EXPORT_PLATFORM", "linux-desktop"},
      {"EXPORT_PARAM_LAZY", "true"},
      {"EXPORT_PARAM_TIME_NORMALIZE", "false"},
      {"EXPORT_PARAM_INCLUDE_BLOBS", payload ? "true" : "false"},
      {"EXPORT_PARAM_INCLUDE_JSON", payload ? "true" : "false"},
  }};
  for (const auto& [name, value] : rows) LOCKSTEP_RETURN_IF_ERROR(table.Row({name, value}));
  return absl::OkStatus();
}

absl::Status WriteCapture(Database& db, const RunDescription& run, int32_t host) {
  NsysTable table(&db, run.options->nsys_schema_minor, "META_DATA_CAPTURE", {"name", "value"});
  const std::string uuid = Uuid(run.rng, -2 - host);
  const bool nodes = run.options->graphs && !run.options->files.opaque_graphs;
  const std::array<std::pair<std::string_view, std::string_view>, 6> rows = {{
      {"CAPTURE_EVENT_TYPE", "Cuda"},
      {"CAPTURE_EVENT_TYPE", "Nvtx"},
      {"CUDA_GRAPH_TRACE_OPTIONS:MODE", nodes ? "Node" : "Graph"},
      {"CUDA_SKIP_SOME_API_CALLS", "true"},
      {"START_TRIGGER", "Immediate"},
      {"PROFILING_SESSION_UUID", uuid},
  }};
  for (const auto& [name, value] : rows) LOCKSTEP_RETURN_IF_ERROR(table.Row({name, value}));
  return absl::OkStatus();
}

absl::Status WriteSession(Database& db, const RunDescription& run, int32_t host, const NsysSession& session) {
  const int minor = run.options->nsys_schema_minor;
  NsysTable start(&db, minor, "TARGET_INFO_SESSION_START_TIME", {"utcEpochNs", "systemClockNs"});
  LOCKSTEP_RETURN_IF_ERROR(start.Row({session.utc_epoch_ns, kSystemClockNs}));
  NsysTable details(&db, minor, "ANALYSIS_DETAILS", {"globalVid", "duration", "startTime", "stopTime"});
  LOCKSTEP_RETURN_IF_ERROR(
      details.Row({kGlobalVid, session.duration_ns, kSystemClockNs, kSystemClockNs + session.duration_ns}));
  NsysTable environment(&db, minor, "TARGET_INFO_SYSTEM_ENV",
                        {"globalVid", "devStateName", "name", "nameEnum", "value"});
  const std::string name = run.cluster->HostName(host);
  const bool old = OldNcclNames(*run.options);
  const std::array<std::pair<std::string_view, std::string_view>, 4> rows = {{
      {"CpuCores", "128"},
      {"Hostname", name},
      {"NvDriverVersion", old ? "525.105.17" : "570.124.06"},
      {"CudaDriverVersion", old ? "12000" : "12080"},
  }};
  int64_t number = 1;
  for (const auto& [key, value] : rows) {
    LOCKSTEP_RETURN_IF_ERROR(environment.Row({kGlobalVid, std::string_view("Local (CLI)"), key, number++, value}));
  }
  return absl::OkStatus();
}

absl::Status WriteDevices(Database& db, const RunDescription& run, const HostCapture& capture) {
  const int minor = run.options->nsys_schema_minor;
  const bool old = OldNcclNames(*run.options);
  const std::string name = GpuName(*run.options);
  const int64_t multiprocessors = old ? 108 : 132;
  NsysTable gpu(&db, minor, "TARGET_INFO_GPU",
                {"vmId", "id", "name", "busLocation", "isDiscrete", "totalMemory", "memoryBandwidth", "clockRate",
                 "smCount", "uuid", "chipName", "cuDevice", "threadsPerWarp", "computeMajor", "computeMinor"});
  NsysTable device(&db, minor, "TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid", "uuid", "numMultiprocessors"});
  for (int32_t id = run.cluster->gpus_per_host - 1; id >= 0; --id) {
    const int32_t rank = capture.first_rank + id;
    const std::string uuid = Uuid(run.rng, rank);
    const std::string bus = fmt::format("0000:{:02x}:00.0", 24 + 16 * id);
    LOCKSTEP_RETURN_IF_ERROR(gpu.Row(
        {kGlobalVid, int64_t{id}, std::string_view(name), std::string_view(bus), int64_t{1}, int64_t{85'017'755'648},
         int64_t{3'352'320'000'000}, int64_t{1'980'000'000}, multiprocessors, std::string_view(uuid),
         std::string_view(old ? "GA100" : "GH100"), int64_t{id}, int64_t{32}, int64_t{old ? 8 : 9}, int64_t{0}}));
    LOCKSTEP_RETURN_IF_ERROR(device.Row(
        {int64_t{id}, int64_t{id}, ProcessIdOf(*run.cluster, rank), std::string_view(uuid), multiprocessors}));
  }
  return absl::OkStatus();
}

absl::Status WriteProcesses(Database& db, const RunDescription& run, const HostCapture& capture) {
  const int minor = run.options->nsys_schema_minor;
  NsysTable processes(&db, minor, "PROCESSES", {"globalPid", "pid", "name"});
  NsysTable contexts(&db, minor, "TARGET_INFO_CUDA_CONTEXT_INFO",
                     {"nullStreamId", "vmId", "processId", "deviceId", "contextId", "isGreenContext"});
  NsysTable streams(&db, minor, "TARGET_INFO_CUDA_STREAM", {"streamId", "vmId", "processId", "contextId", "flag"});
  LOCKSTEP_RETURN_IF_ERROR(processes.Row({GlobalPid(1), int64_t{1}, std::string_view("systemd")}));
  for (size_t i = 0; i < capture.ranks.size(); ++i) {
    const int32_t rank = capture.first_rank + static_cast<int32_t>(i);
    const int64_t pid = ProcessIdOf(*run.cluster, rank);
    const int64_t device = run.cluster->ranks[static_cast<size_t>(rank)].device;
    LOCKSTEP_RETURN_IF_ERROR(processes.Row({GlobalPid(pid), pid, std::string_view("/usr/bin/python3")}));
    LOCKSTEP_RETURN_IF_ERROR(contexts.Row({int64_t{7}, int64_t{1}, pid, device, int64_t{1}, int64_t{0}}));
    for (size_t stream = 0; stream < kStreams; ++stream) {
      LOCKSTEP_RETURN_IF_ERROR(streams.Row({int64_t{StreamNumber(static_cast<Stream>(stream))}, int64_t{1}, pid,
                                            int64_t{1}, int64_t{stream == 0 ? 1 : 2}}));
    }
  }
  return absl::OkStatus();
}

struct EnumRow {
  std::string_view table;
  int64_t id;
  std::string_view name;
  std::string_view label;
};

absl::Status WriteEnums(Database& db, int minor) {
  constexpr std::array kRows = {
      EnumRow{"ENUM_CUDA_MEMCPY_OPER", 1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"},
      EnumRow{"ENUM_CUDA_MEMCPY_OPER", 2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"},
      EnumRow{"ENUM_CUDA_MEM_KIND", 1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"},
      EnumRow{"ENUM_CUDA_MEM_KIND", 2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"},
      EnumRow{"ENUM_CUPTI_SYNC_TYPE", 2, "CUPTI_SYNC_STREAM_WAIT_EVENT", "Stream wait event"},
      EnumRow{"ENUM_CUPTI_SYNC_TYPE", 3, "CUPTI_SYNC_STREAM_SYNC", "Stream sync"},
      EnumRow{"ENUM_NSYS_EVENT_CLASS", 0, "TRACE_PROCESS_EVENT_CUDA_RUNTIME", "CUDA runtime"},
      EnumRow{"ENUM_NSYS_EVENT_TYPE", 59, "NvtxPushPopRange", "NVTX push/pop range"},
      EnumRow{"ENUM_NSYS_EVENT_TYPE", 75, "NvtxDomainCreate", "NVTX domain create"},
  };
  size_t i = 0;
  while (i < kRows.size()) {
    const std::string_view name = kRows[i].table;
    NsysTable table(&db, minor, name, {"id", "name", "label"});
    for (; i < kRows.size() && kRows[i].table == name; ++i) {
      LOCKSTEP_RETURN_IF_ERROR(table.Row({kRows[i].id, kRows[i].name, kRows[i].label}));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int64_t SessionStartOf(const RunDescription& run, int32_t host) {
  const DrawKey key{.rank = host, .purpose = Purpose::kSessionStart};
  return run.session_start_ns - run.rng.UniformInt(key, 0, 400'000'000);
}

absl::Status WriteTargetInfo(Database& db, const RunDescription& run, const HostCapture& capture,
                             const NsysSession& session) {
  LOCKSTEP_RETURN_IF_ERROR(WriteExport(db, *run.options));
  LOCKSTEP_RETURN_IF_ERROR(WriteCapture(db, run, capture.host));
  LOCKSTEP_RETURN_IF_ERROR(WriteSession(db, run, capture.host, session));
  LOCKSTEP_RETURN_IF_ERROR(WriteDevices(db, run, capture));
  LOCKSTEP_RETURN_IF_ERROR(WriteProcesses(db, run, capture));
  NsysTable diagnostics(&db, run.options->nsys_schema_minor, "DIAGNOSTIC_EVENT",
                        {"timestamp", "timestampType", "source", "severity", "text", "globalPid"});
  LOCKSTEP_RETURN_IF_ERROR(diagnostics.Row(
      {int64_t{-1'250'000}, int64_t{1}, int64_t{1}, int64_t{1}, std::string_view("Profiling has started."), Cell()}));
  return WriteEnums(db, run.options->nsys_schema_minor);
}

}  // namespace lockstep
