// Every foreign name of the Kineto format that lockstep reads, once, with the writer version that introduced it (kineto
// dates; see README.md). No other file of this folder spells a key or a category.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockstep::kineto {

// Around the events.
namespace top {
inline constexpr std::string_view kTraceEvents = "traceEvents";
inline constexpr std::string_view kSchemaVersion = "schemaVersion";        // 2021
inline constexpr std::string_view kDeviceProperties = "deviceProperties";  // 2021
inline constexpr std::string_view kDistributedInfo = "distributedInfo";    // 2021, on-demand variant 2024-07
inline constexpr std::string_view kBaseTime = "baseTimeNanoseconds";       // 2024-05; before the events since 2025-03
inline constexpr std::string_view kHostName = "host_name";                 // 2026-01, earlier inside Meta
inline constexpr std::string_view kWarning = "WARNING";
inline constexpr std::string_view kError = "ERROR";
inline constexpr std::string_view kNodes = "nodes";  // not Kineto's: the body of a PyTorch execution trace
}  // namespace top

// Written as quoted integers or raw; the second column is the name under which lockstep keeps it.
struct Renamed {
  std::string_view key;
  std::string_view name;
};
inline constexpr std::array kVersionKeys = {
    Renamed{"cuda_runtime_version", "cuda"},
    Renamed{"cuda_driver_version", "driver"},
    Renamed{"cupti_version", "cupti"},
    Renamed{"hip_runtime_version", "hip"},
    Renamed{"hip_driver_version", "hip_driver"},
    Renamed{"roctracer_version", "roctracer"},
    Renamed{"rocprofiler-sdk_version", "rocprofiler_sdk"},
    Renamed{"nccl_version", "nccl"},
    Renamed{"vllm_version", "vllm"},
    Renamed{"sglang_version", "sglang"},
    Renamed{"torch_version", "torch"},
    Renamed{"pytorch_version", "torch"},
    Renamed{"python_version", "python"},
};
inline constexpr std::array<std::string_view, 5> kOptionKeys = {"record_shapes", "profile_memory", "with_stack",
                                                                "with_flops", "with_modules"};

// Inside distributedInfo, its pg_config entries (2024) and deviceProperties entries.
namespace info {
inline constexpr std::string_view kRank = "rank";
inline constexpr std::string_view kWorldSize = "world_size";
inline constexpr std::string_view kNcclVersion = "nccl_version";
inline constexpr std::string_view kUnknown = "unknown";  // as nccl_version in the on-demand variant
inline constexpr std::string_view kGroups = "pg_config";
inline constexpr std::string_view kGroupName = "pg_name";
inline constexpr std::string_view kGroupDescription = "pg_desc";  // `uid` instead in 2024-04
inline constexpr std::string_view kGroupSize = "pg_size";
inline constexpr std::string_view kGroupRanks = "ranks";  // a list; a string in the on-demand variant
inline constexpr std::string_view kDeviceId = "id";
inline constexpr std::string_view kDeviceName = "name";
inline constexpr std::string_view kDeviceUuid = "uuid";
inline constexpr std::string_view kDeviceMultiprocessors = "numSms";
}  // namespace info

// Keys of an event.
namespace event {
inline constexpr std::string_view kPhase = "ph";
inline constexpr std::string_view kCategory = "cat";
inline constexpr std::string_view kName = "name";
inline constexpr std::string_view kTime = "ts";
inline constexpr std::string_view kDuration = "dur";
inline constexpr std::string_view kPid = "pid";
inline constexpr std::string_view kTid = "tid";
inline constexpr std::string_view kArgs = "args";
}  // namespace event

// Names of events with a meaning of their own.
namespace name {
inline constexpr std::string_view kCommParams = "record_param_comms";
inline constexpr std::string_view kStepPrefix = "ProfilerStep#";
inline constexpr std::string_view kMemory = "[memory]";
inline constexpr std::string_view kBackward = "autograd::engine::evaluate_function";  // and the function's name
inline constexpr std::string_view kOptimizerStep = "Optimizer.step#";
inline constexpr std::string_view kStreamTid = "stream ";  // "stream 7" as tid, 2020/21
}  // namespace name

// What lockstep does with a category. Categories are compared without case.
enum class Category : uint8_t {
  kUnknown,  // not Kineto's
  kKernel,
  kMemcpy,
  kMemset,
  kSync,
  kRuntime,
  kDriver,
  kCpuOp,
  kUserAnnotation,
  kHostOther,  // host rows that only say how long the capture was
  kOverhead,
  kInstant,
  kOther,  // Kineto's, not used
};
struct CategoryName {
  std::string_view text;
  Category category;
};
inline constexpr std::array kCategories = {
    CategoryName{"kernel", Category::kKernel},
    CategoryName{"gpu_memcpy", Category::kMemcpy},
    CategoryName{"memcpy", Category::kMemcpy},  // 2020/21
    CategoryName{"gpu_memset", Category::kMemset},
    CategoryName{"memset", Category::kMemset},  // 2020/21
    CategoryName{"cuda_sync", Category::kSync},
    CategoryName{"cuda_runtime", Category::kRuntime},  // HIP calls as well
    CategoryName{"runtime", Category::kRuntime},       // 2020/21
    CategoryName{"cuda_driver", Category::kDriver},
    CategoryName{"cpu_op", Category::kCpuOp},
    CategoryName{"operator", Category::kCpuOp},  // 2020/21, ProfilerStep#N too
    CategoryName{"user_annotation", Category::kUserAnnotation},
    CategoryName{"user", Category::kUserAnnotation},
    CategoryName{"python_function", Category::kHostOther},
    CategoryName{"overhead", Category::kOverhead},
    CategoryName{"cpu_instant_event", Category::kInstant},
    CategoryName{"gpu_user_annotation", Category::kOther},
    CategoryName{"trace", Category::kOther},
    CategoryName{"cuda_event", Category::kOther},
    CategoryName{"cuda_profiler_range", Category::kOther},
    CategoryName{"collective_comm", Category::kOther},
    CategoryName{"external_correlation", Category::kOther},
    CategoryName{"hardware_counters", Category::kOther},
    CategoryName{"mtia_runtime", Category::kOther},
    CategoryName{"mtia_ccp_events", Category::kOther},
    CategoryName{"mtia_insight", Category::kOther},
    CategoryName{"mtia_counters", Category::kOther},
    CategoryName{"glow_runtime", Category::kOther},
    CategoryName{"hpu_op", Category::kOther},
    CategoryName{"xpu_runtime", Category::kOther},
    CategoryName{"xpu_driver", Category::kOther},
    CategoryName{"xpu_sync", Category::kOther},
    CategoryName{"xpu_scope_profiler", Category::kOther},
    CategoryName{"privateuse1_runtime", Category::kOther},
    CategoryName{"privateuse1_driver", Category::kOther},
};

// Arguments of an event.
enum class Arg : uint8_t {
  kExternalId,
  kDevice,
  kStream,
  kCorrelation,
  kBytes,
  kGrid,
  kBlock,
  kGraphId,
  kGraphNodeId,
  kCollective,
  kDataType,
  kInElements,
  kOutElements,
  kGroupSize,
  kGroupName,
  kGroupDescription,
  kGroupRanks,
  kSourceRank,
  kTargetRank,
  kSeq,
  kCommsId,
  kGlobalRankStart,
  kGlobalRankStride,
  kSyncKind,
  kMemoryBytes,
  kMemoryDeviceType,
  kMemoryDeviceId,
  kCount,
};
inline constexpr size_t kArgCount = static_cast<size_t>(Arg::kCount);
struct ArgName {
  std::string_view text;
  Arg arg;
};
inline constexpr std::array kArgNames = {
    ArgName{"External id", Arg::kExternalId},
    ArgName{"external id", Arg::kExternalId},  // 2020/21
    ArgName{"device", Arg::kDevice},
    ArgName{"stream", Arg::kStream},
    ArgName{"correlation", Arg::kCorrelation},
    ArgName{"bytes", Arg::kBytes},
    ArgName{"grid", Arg::kGrid},
    ArgName{"block", Arg::kBlock},
    ArgName{"graph id", Arg::kGraphId},
    ArgName{"graph node id", Arg::kGraphNodeId},
    ArgName{"Collective name", Arg::kCollective},  // on kernels 2023-10
    ArgName{"dtype", Arg::kDataType},
    ArgName{"In msg nelems", Arg::kInElements},  // 2023-12
    ArgName{"Out msg nelems", Arg::kOutElements},
    ArgName{"In msg size", Arg::kInElements},  // until 2023-12, elements as well
    ArgName{"Out msg size", Arg::kOutElements},
    ArgName{"Group size", Arg::kGroupSize},
    ArgName{"Process Group Name", Arg::kGroupName},  // 2024-04
    ArgName{"Process Group ID", Arg::kGroupName},    // 2024-03 to 2024-04
    ArgName{"Process Group Description", Arg::kGroupDescription},
    ArgName{"Process Group Ranks", Arg::kGroupRanks},
    ArgName{"Src Rank", Arg::kSourceRank},  // 2024-07
    ArgName{"Dst Rank", Arg::kTargetRank},  // 2024-07
    ArgName{"Seq", Arg::kSeq},              // 2026-03
    ArgName{"Comms Id", Arg::kCommsId},     // 2026-03, on CPU rows earlier
    ArgName{"Global rank start", Arg::kGlobalRankStart},
    ArgName{"Global rank stride", Arg::kGlobalRankStride},
    ArgName{"cuda_sync_kind", Arg::kSyncKind},
    ArgName{"Bytes", Arg::kMemoryBytes},
    ArgName{"Device Type", Arg::kMemoryDeviceType},
    ArgName{"Device Id", Arg::kMemoryDeviceId},
};
inline constexpr int64_t kGpuDeviceType = 1;  // c10::DeviceType::CUDA, also on ROCm

}  // namespace lockstep::kineto
