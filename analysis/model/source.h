// Identity and context of a source: what one node knows about one device of one process of one trace file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/base/hash128.h"
#include "analysis/model/drop_reason.h"

namespace lockstep {

// In order of trust, best first (interface: "Which rank a source is"). Wire values: append only.
enum class RankSource : uint8_t {
  kRankMap = 0,
  kMetadata = 1,     // Kineto distributedInfo
  kMpi = 2,          // nsys MPI_RANKS
  kNcclInit = 3,     // NCCL init payload of the world communicator
  kEnvironment = 4,  // RANK and friends, only if the report traced one process
  kFileName = 5,
  kAssumed = 6,
};
[[nodiscard]] std::string_view Name(
    RankSource source);  // "rank_map", "metadata", "mpi", "nccl_init", "environment", ...

enum class HostSource : uint8_t { kRankMap = 0, kTrace = 1, kFileName = 2, kOption = 3, kAssumed = 4, kUnknown = 5 };
[[nodiscard]] std::string_view Name(HostSource source);

// What marks the steps of a source. Wire values: append only.
enum class StepSource : uint8_t {
  kNone = 0,
  kProfiler = 1,  // ProfilerStep#N
  kRange = 2,     // the NVTX ranges or annotations that --step-range names
  kDetected = 3,  // the rhythm of the launched kernels
  kEngine = 4,    // the passes that a serving engine annotates
};
// Numbers of such steps count from the source's own first: they mean nothing on another rank.
[[nodiscard]] constexpr bool NumbersItsOwnSteps(StepSource source) {
  return source == StepSource::kDetected || source == StepSource::kEngine;
}
[[nodiscard]] std::string_view Name(StepSource source);  // "", "profiler_step", "range", "detected", "engine"

struct RankClaim {
  int32_t rank = -1;
  RankSource source = RankSource::kAssumed;
  friend bool operator==(const RankClaim&, const RankClaim&) = default;
};

// A process group that the trace's metadata lists (Kineto pg_config, NCCL init payloads).
struct GroupConfig {
  std::string name;
  std::string desc;
  std::vector<int32_t> members;  // global ranks, sorted
  int32_t size = -1;
  uint64_t comm_hash = 0;
  int32_t own_rank = -1;  // rank of this process inside the group, if known
  friend bool operator==(const GroupConfig&, const GroupConfig&) = default;
};

struct DeviceInfo {
  int32_t ordinal = 0;
  int64_t pid = -1;  // -1 = every process of the file
  std::string name;
  std::string uuid;     // with the "GPU-" prefix
  std::string pci_bus;  // "0000:01:00.0"
  int32_t sm_count = -1;
  int64_t memory_bandwidth_bytes_per_s = -1;
  friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

// One process of a trace file, as RecordSink::AddProcess numbered it.
struct ProcessInfo {
  int64_t pid = -1;               // -1 = the trace does not say
  std::vector<RankClaim> claims;  // best first
  std::optional<int32_t> world_size;
  std::vector<GroupConfig> groups;
};

// What a reader knows about the whole file. Filled while reading, complete at the end.
struct FileContext {
  std::string format;          // "kineto" | "nsys"
  std::string tool_version;    // profiler's product version
  std::string schema_version;  // nsys export schema, Kineto schemaVersion
  int64_t base_unix_ns = 0;    // added to every time of the file
  bool has_base = false;       // false: times are already absolute
  std::string host;            // "" = unknown
  std::string session;         // discriminates capture sessions of one host; "" = one session a host (Kineto)
  std::vector<DeviceInfo> devices;
  std::vector<ProcessInfo> processes;
  std::map<std::string, std::string> versions;  // driver, cuda, nccl, framework, python, ...
  std::map<std::string, std::string> options;  // profiler options that change timing: cuda_graph_trace, with_stack, ...
  int64_t capture_start_ns = 0;                // capture window on the file's axis; both 0 = unknown
  int64_t capture_end_ns = 0;
  int64_t api_rows = 0;                  // runtime and driver calls
  int64_t opaque_graph_launches = 0;     // graph launches without any node row
  int64_t overhead_ns = 0;               // profiler overhead rows, summed
  std::vector<std::string> diagnostics;  // the capture's own warnings worth showing (never environment, never commands)
  DropCounters drops;
};

// The travelling form: one source. Times are LocalTime ns (Unix axis as the source claims).
struct SourceContext {
  Hash128 source_id;
  std::string path;  // for people; never part of the identity
  std::string format;
  std::string tool_version;
  std::string schema_version;
  int64_t pid = -1;
  int32_t device = -1;
  std::vector<RankClaim> claims;
  std::optional<int32_t> world_size;
  std::string host;
  HostSource host_source = HostSource::kUnknown;
  std::string session;
  DeviceInfo gpu;
  std::map<std::string, std::string> versions;
  std::map<std::string, std::string> options;
  std::vector<GroupConfig> groups;
  std::vector<std::string> diagnostics;
  int64_t base_unix_ns = 0;
  int64_t capture_start_ns = 0;
  int64_t capture_end_ns = 0;
  int64_t first_start_ns = 0;  // first start and last end of device activity
  int64_t last_end_ns = 0;
  int64_t kernels = 0;
  int64_t collectives = 0;
  int64_t memcpys = 0;
  int64_t memsets = 0;
  int64_t graph_spans = 0;
  int64_t graph_kernels = 0;
  int64_t kernel_time_ns = 0;
  int64_t api_rows = 0;
  int64_t opaque_graph_launches = 0;
  int64_t overhead_ns = 0;
  int64_t slice_ns = 0;   // width of a time slice of the sketches: a power of two, aligned to the Unix epoch
  int64_t bucket_ns = 0;  // width of an interval-measure bucket, likewise
  int32_t processes_in_file = 1;
  StepSource step_source = StepSource::kNone;
  int32_t classifier_version = 0;
  int32_t condense_version = 0;
};

}  // namespace lockstep
