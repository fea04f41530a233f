// The catalogue of foreign names: every table, column and key of an nsys SQLite export that lockstep reads stands here
// once, with the schema version that brought it (none = in all known ones). See README.md.
//
// Each namespace is one table: Field numbers its columns, kTable names it. Fields are positions in kColumns.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace lockstep::nsys {

enum class Need : uint8_t {
  kOptional,  // absent column reads as NULL
  kRequired,  // without it the table tells nothing
};

struct Column {
  std::string_view name;
  Need need = Need::kOptional;
};

struct Table {
  std::string_view name;
  std::span<const Column> columns;
};

namespace string_ids {
enum Field : int { kId, kValue, kFieldCount };
inline constexpr std::array<Column, kFieldCount> kColumns = {{{"id", Need::kRequired}, {"value", Need::kRequired}}};
inline constexpr Table kTable{"StringIds", kColumns};
}  // namespace string_ids

namespace kernel {
enum Field : int {
  kStart,
  kEnd,
  kDevice,
  kStream,
  kCorrelation,
  kGlobalPid,
  kDemangled,
  kShort,
  kMangled,
  kGridX,
  kGridY,
  kGridZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kGraphNode,
  kFieldCount
};
inline constexpr std::array<Column, kFieldCount> kColumns = {{
    {"start", Need::kRequired},
    {"end", Need::kRequired},
    {"deviceId", Need::kRequired},
    {"streamId"},
    {"correlationId"},
    {"globalPid"},
    {"demangledName"},
    {"shortName"},
    {"mangledName"},  // about 2021
    {"gridX"},
    {"gridY"},
    {"gridZ"},
    {"blockX"},
    {"blockY"},
    {"blockZ"},
    {"graphNodeId"},
}};
inline constexpr Table kTable{"CUPTI_ACTIVITY_KIND_KERNEL", kColumns};
}  // namespace kernel

namespace memcpy_op {
enum Field : int {
  kStart,
  kEnd,
  kDevice,
  kStream,
  kCorrelation,
  kGlobalPid,
  kBytes,
  kCopyKind,
  kSourceKind,
  kTargetKind,
  kGraphNode,
  kFieldCount
};
inline constexpr std::array<Column, kFieldCount> kColumns = {{
    {"start", Need::kRequired},
    {"end", Need::kRequired},
    {"deviceId", Need::kRequired},
    {"streamId"},
    {"correlationId"},
    {"globalPid"},
    {"bytes"},
    {"copyKind"},
    {"srcKind"},
    {"dstKind"},
    {"graphNodeId"},
}};
inline constexpr Table kTable{"CUPTI_ACTIVITY_KIND_MEMCPY", kColumns};
}  // namespace memcpy_op

namespace memset_op {
enum Field : int {
  kStart,
  kEnd,
  kDevice,
  kStream,
  kCorrelation,
  kGlobalPid,
  kBytes,
  kMemoryKind,
  kGraphNode,
  kFieldCount
};
inline constexpr std::array<Column, kFieldCount> kColumns = {{
    {"start", Need::kRequired},
    {"end", Need::kRequired},
    {"deviceId", Need::kRequired},
    {"streamId"},
    {"correlationId"},
    {"globalPid"},
    {"bytes"},
    {"memKind"},
    {"graphNodeId"},
}};
inline constexpr Table kTable{"CUPTI_ACTIVITY_KIND_MEMSET", kColumns};
}  // namespace memset_op

namespace graph_trace {  // 3.8 to 3.13
enum Field : int { kStart, kEnd, kDevice, kStream, kCorrelation, kGlobalPid, kGraph, kFieldCount };
inline constexpr std::array<Column, kFieldCount> kColumns = {{
    {"start", Need::kRequired},
    {"end", Need::kRequired},
    {"deviceId", Need::kRequired},
    {"streamId"},
    {"correlationId"},
    {"globalPid"},
    {"graphId"},
}};
inline constexpr Table kTable{"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", kColumns};
}  // namespace graph_trace

namespace runtime {
enum Field : int { kStart, kEnd, kEventClass, kGlobalTid, kCorrelation, kName, kFieldCount };
inline constexpr std::array<Column, kFieldCount> kColumns = {{
    {"start", Need::kRequired},
    {"end", Need::kRequired},
    {"eventClass"},
    {"globalTid"},
    {"correlationId"},
    {"nameId", Need::kRequired},
}};
inline constexpr Table kTable{"CUPTI_ACTIVITY_KIND_RUNTIME", kColumns};
inline constexpr int64_t kDriverClass = 1;
}  // namespace runtime

namespace sync {
enum Field : int { kStart, kEnd, kDevice, kStream, kCorrelation, kGlobalPid, kSyncType, kFieldCount };
inline constexpr std::array<Column, kFieldCount> kColumns = {{
    {"start", Need::kRequired},
    {"end", Need::kRequired},
    {"deviceId", Need::kRequired},
    {"streamId"},
    {"correlationId"},
    {"globalPid"},
    {"syncType", Need::kRequired},
}};
inline constexpr Table kTable{"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", kColumns};
}  // namespace sync

namespace memory_usage {
enum Field : int { kStart, kGlobalPid, kDevice, kBytes, kMemoryKind, kOperation, kFieldCount };
inline constexpr std::array<Column, kFieldCount> kColumns = {{
    {"start", Need::kRequired},
    {"globalPid"},
    {"deviceId", Need::kRequired},
    {"bytes", Need::kRequired},
    {"memKind", Need::kRequired},
    {"memoryOperationType", Need::kRequired},
}};
inline constexpr Table kTable{"CUDA_GPU_MEMORY_USAGE_EVENTS", kColumns};
inline constexpr int64_t kAllocation = 0;
inline constexpr int64_t kDeallocation = 1;
}  // namespace memory_usage

namespace profiler_overhead {
enum Field : int { kStart, kEnd, kType, kFieldCount };
inline constexpr std::array<Column, kFieldCount> kColumns = {{
    {"start", Need::kRequired},
    {"end", Need::kRequired},
    {"overheadType"},  // 3.24; before it a returnValue that says nothing
}};
inline constexpr Table kTable{"PROFILER_OVERHEAD", kColumns};
}  // namespace profiler_overhead

namespace cupti_overhead {  // 3.24
enum Field : int { kStart, kEnd, kType, kFieldCount };
inline constexpr std::array<Column, kFieldCount> kColumns = {{
    {"start", Need::kRequired},
    {"end", Need::kRequired},
    {"overheadType", Need::kRequired},
}};
inline constexpr Table kTable{"CUPTI_ACTIVITY_KIND_OVERHEAD", kColumns};
}  // namespace cupti_overhead

namespace nvtx {
enum Field : int {
  kStart,
  kEnd,
  kEventType,
  kText,
  kTextId,
  kGlobalTid,
  kDomain,
  kJsonText,
  kJsonTextId,
  kBinaryData,
  kFieldCount
};
inline constexpr std::array<Column, kFieldCount> kColumns = {{
    {"start", Need::kRequired},
    {"end"},
    {"eventType", Need::kRequired},
    {"text"},
    {"textId"},
    {"globalTid"},
    {"domainId"},
    {"jsonText"},
    {"jsonTextId"},
    {"binaryData"},  // 3.13; declared TEXT, holds a BLOB
}};
inline constexpr Table kTable{"NVTX_EVENTS", kColumns};
inline constexpr int64_t kMark = 34;
inline constexpr int64_t kPushPop = 59;
inline constexpr int64_t kStartEnd = 60;
inline constexpr int64_t kImportedPushPop = 70;
inline constexpr int64_t kImportedStartEnd = 71;
inline constexpr int64_t kDomainCreate = 75;
}  // namespace nvtx

namespace payload_entries {  // 3.13
enum Field : int { kDomain, kSchema, kIndex, kType, kName, kOffset, kFieldCount };
inline constexpr std::array<Column, kFieldCount> kColumns = {{
    {"domainId", Need::kRequired},
    {"schemaId", Need::kRequired},
    {"idx", Need::kRequired},
    {"type", Need::kRequired},
    {"name", Need::kRequired},
    {"offset"},
}};
inline constexpr Table kTable{"NVTX_PAYLOAD_SCHEMA_ENTRIES", kColumns};
// Labels that NCCL gives its payload entries.
inline constexpr std::string_view kCommunicator = "NCCL communicator ID";  // NCCL 2.25
inline constexpr std::string_view kMessageSize = "Message size [bytes]";
inline constexpr std::string_view kRoot = "Root";
inline constexpr std::string_view kPeer = "Peer rank";
inline constexpr std::string_view kRankCount = "No. of ranks";
inline constexpr std::string_view kRank = "Rank";
}  // namespace payload_entries

// Keys of the JSON payload of advanced NCCL tracing (nsys 2025.6.1, NCCL 2.28).
namespace nccl_json {
inline constexpr std::string_view kCommHash = "commHash";
inline constexpr std::string_view kCount = "count";
inline constexpr std::string_view kDataType = "dataType";
inline constexpr std::string_view kSequence = "seqNumber";
inline constexpr std::string_view kOperation = "operationId";
}  // namespace nccl_json

namespace mpi_ranks {  // with --trace=mpi
enum Field : int { kGlobalTid, kRank, kFieldCount };
inline constexpr std::array<Column, kFieldCount> kColumns = {
    {{"globalTid", Need::kRequired}, {"rank", Need::kRequired}}};
inline constexpr Table kTable{"MPI_RANKS", kColumns};
}  // namespace mpi_ranks

namespace gpu {
enum Field : int { kId, kName, kBus, kBandwidth, kSmCount, kUuid, kFieldCount };
inline constexpr std::array<Column, kFieldCount> kColumns = {{
    {"id", Need::kRequired},
    {"name"},
    {"busLocation"},
    {"memoryBandwidth"},
    {"smCount"},
    {"uuid"},
}};
inline constexpr Table kTable{"TARGET_INFO_GPU", kColumns};
}  // namespace gpu

namespace cuda_device {  // 3.24
enum Field : int { kGpu, kCuda, kPid, kUuid, kSmCount, kFieldCount };
inline constexpr std::array<Column, kFieldCount> kColumns = {{
    {"gpuId"},
    {"cudaId", Need::kRequired},
    {"pid", Need::kRequired},
    {"uuid"},
    {"numMultiprocessors"},
}};
inline constexpr Table kTable{"TARGET_INFO_CUDA_DEVICE", kColumns};
}  // namespace cuda_device

namespace system_env {
enum Field : int { kName, kValue, kFieldCount };
inline constexpr std::array<Column, kFieldCount> kColumns = {{{"name", Need::kRequired}, {"value", Need::kRequired}}};
inline constexpr Table kTable{"TARGET_INFO_SYSTEM_ENV", kColumns};
inline constexpr std::string_view kHostname = "Hostname";
inline constexpr std::string_view kDriver = "NvDriverVersion";
inline constexpr std::string_view kCudaDriver = "CudaDriverVersion";
inline constexpr std::string_view kEnvironment = "DeviceEnvironment";
inline constexpr std::string_view kInstallDir = "TargetInstallDir";
}  // namespace system_env

namespace session_start {
enum Field : int { kUtcEpoch, kFieldCount };
inline constexpr std::array<Column, kFieldCount> kColumns = {{{"utcEpochNs", Need::kRequired}}};
inline constexpr Table kTable{"TARGET_INFO_SESSION_START_TIME", kColumns};
}  // namespace session_start

namespace analysis_details {
enum Field : int { kDuration, kFieldCount };
inline constexpr std::array<Column, kFieldCount> kColumns = {{{"duration", Need::kRequired}}};
inline constexpr Table kTable{"ANALYSIS_DETAILS", kColumns};
}  // namespace analysis_details

namespace diagnostic {  // 3.8 to 3.13
enum Field : int { kSeverity, kText, kFieldCount };
inline constexpr std::array<Column, kFieldCount> kColumns = {
    {{"severity", Need::kRequired}, {"text", Need::kRequired}}};
inline constexpr Table kTable{"DIAGNOSTIC_EVENT", kColumns};
inline constexpr int64_t kWarning = 2;
inline constexpr int64_t kError = 3;
}  // namespace diagnostic

namespace metadata {
enum Field : int { kName, kValue, kFieldCount };
inline constexpr std::array<Column, kFieldCount> kColumns = {{{"name", Need::kRequired}, {"value", Need::kRequired}}};
inline constexpr Table kExportOld{"EXPORT_META_DATA", kColumns};  // up to 3.1
inline constexpr Table kExport{"META_DATA_EXPORT", kColumns};     // by 3.7
inline constexpr Table kCapture{"META_DATA_CAPTURE", kColumns};   // by 3.7
inline constexpr std::string_view kProductVersion = "EXPORT_PRODUCT_VERSION";
inline constexpr std::string_view kSchemaVersion = "EXPORT_SCHEMA_VERSION";
inline constexpr std::string_view kTimeNormalize = "EXPORT_PARAM_TIME_NORMALIZE";
inline constexpr std::string_view kTimeShift = "EXPORT_PARAM_TIME_SHIFT";
inline constexpr std::string_view kIncludeJson = "EXPORT_PARAM_INCLUDE_JSON";
inline constexpr std::string_view kIncludeBlobs = "EXPORT_PARAM_INCLUDE_BLOBS";
inline constexpr std::string_view kSessionUuid = "PROFILING_SESSION_UUID";
inline constexpr std::string_view kEventType = "CAPTURE_EVENT_TYPE";
inline constexpr std::string_view kEnvironment = "ENVIRONMENT_VARIABLE";
inline constexpr std::string_view kGraphMode = "CUDA_GRAPH_TRACE_OPTIONS:MODE";
inline constexpr std::string_view kDeviceGraphLaunch = "CUDA_GRAPH_TRACE_OPTIONS:TRACE_DEVICE_GRAPH_LAUNCH";
inline constexpr std::string_view kSkipSomeApi = "CUDA_SKIP_SOME_API_CALLS";
inline constexpr std::string_view kMemoryUsage = "COLLECT_GPU_MEMORY_USAGE";
inline constexpr std::string_view kFlushPeriodically = "CUDA_FLUSH_PERIODICALLY";
}  // namespace metadata

// The captured output of the program: only its presence is looked at, never its text.
namespace process_streams {
inline constexpr std::array<Column, 1> kColumns = {{{"globalPid"}}};
inline constexpr Table kTable{"ProcessStreams", kColumns};
}  // namespace process_streams

// Every table that is looked up in a file.
[[nodiscard]] std::span<const Table* const> KnownTables();

// Tables of which any one, beside StringIds, makes a database an nsys export.
[[nodiscard]] bool MarksAnExport(std::string_view table_name);

}  // namespace lockstep::nsys
