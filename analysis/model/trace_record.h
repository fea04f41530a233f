// What a trace reader emits: small fixed-size records with interned names, in whatever order the file has them.
//
// Times are int64 ns on the *file's own axis*; FileContext::base_unix_ns is added later, once the whole file has been
// read (Kineto writes its base after the events). Readers guarantee |time| <= kMaxAbsTimeNs and duration >= 0.
// Plain, trivially copyable values: they pass through the external sort as bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "analysis/model/collective.h"

namespace lockstep {

using NameId = uint32_t;   // index of an interned string of one file
using ShapeId = uint32_t;  // index of an interned launch shape of one file
using MetaId = uint32_t;   // index of an interned CollectiveMeta of one file
inline constexpr uint32_t kNoId = std::numeric_limits<uint32_t>::max();
inline constexpr int64_t kNoSeq = -1;
inline constexpr int64_t kUnknownBytes = -1;

enum class DeviceKind : uint8_t { kKernel = 0, kMemcpy = 1, kMemset = 2, kGraphSpan = 3 };

// Copy directions, with nsys's numbers; Kineto names are mapped onto them.
enum class CopyKind : uint8_t {
  kUnknown = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kHostToArray = 3,
  kArrayToHost = 4,
  kArrayToArray = 5,
  kArrayToDevice = 6,
  kDeviceToArray = 7,
  kDeviceToDevice = 8,
  kHostToHost = 9,
  kPeerToPeer = 10,
  kUnifiedHostToDevice = 11,
  kUnifiedDeviceToHost = 12,
  kUnifiedDeviceToDevice = 13,
};

enum class MemoryKind : uint8_t { kUnknown = 0, kPageable = 1, kPinned = 2, kDevice = 3, kArray = 4, kManaged = 5 };

// One activity of a device: kernel, copy, memset or graph-level span. What differs between neighbours stands first.
struct DeviceRecord {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  uint64_t correlation = 0;  // joins with ApiRecord::correlation of the same process; see has_correlation
  NameId name = kNoId;       // demangled kernel name; operation label of a copy
  NameId mangled = kNoId;    // kNoId = not recorded
  ShapeId shape = kNoId;
  int32_t stream = -1;
  int32_t device = 0;             // ordinal as the process sees it
  uint32_t process = 0;           // index given by RecordSink::AddProcess
  uint64_t external_id = 0;       // Kineto "External id"; 0 = none
  uint64_t graph_node = 0;        // nsys graphNodeId / Kineto "graph node id"; 0 = not from a graph
  uint64_t comms_id = 0;          // Kineto "Comms Id", nsys operationId; see has_comms_id
  int64_t seq = kNoSeq;           // the trace's own sequence number
  int64_t bytes = kUnknownBytes;  // copies and memsets
  MetaId meta = kNoId;            // collective metadata on the row itself
  DeviceKind kind = DeviceKind::kKernel;
  CopyKind copy_kind = CopyKind::kUnknown;
  MemoryKind source_memory = MemoryKind::kUnknown;
  MemoryKind target_memory = MemoryKind::kUnknown;
  bool has_correlation = false;
  bool has_comms_id = false;
  bool from_graph = false;
};

enum class ApiKind : uint8_t {
  kOther = 0,
  kLaunch = 1,
  kGraphLaunch = 2,
  kCopy = 3,
  kMemset = 4,
  kSync = 5,
  kAlloc = 6
};

// One runtime or driver API call.
struct ApiRecord {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  uint64_t correlation = 0;
  uint64_t external_id = 0;
  int64_t tid = 0;
  uint32_t process = 0;
  NameId name = kNoId;
  ApiKind kind = ApiKind::kOther;
  bool has_correlation = false;
  bool is_driver = false;
};

enum class HostKind : uint8_t {
  kStep = 0,        // ProfilerStep#N; step_number holds N
  kRange = 1,       // NVTX push/pop, Kineto user_annotation
  kStartEnd = 2,    // NVTX start/end range
  kMark = 3,        // NVTX mark
  kCollective = 4,  // record_param_comms, or an NCCL NVTX range with payload: meta is set
};

struct HostRecord {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;  // an open range: up to the end of the capture
  int64_t tid = 0;
  uint64_t external_id = 0;
  uint64_t comms_id = 0;
  int64_t seq = kNoSeq;
  int64_t step_number = -1;
  uint32_t process = 0;
  NameId name = kNoId;
  NameId domain = kNoId;  // NVTX domain; kNoId = default
  MetaId meta = kNoId;
  HostKind kind = HostKind::kRange;
  bool has_comms_id = false;
};

// Device-side synchronisation row (event wait, stream/context synchronise).
enum class SyncKind : uint8_t { kUnknown = 0, kEventSync = 1, kStreamWaitEvent = 2, kStreamSync = 3, kContextSync = 4 };
struct SyncRecord {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  uint64_t correlation = 0;
  uint32_t process = 0;
  int32_t device = 0;
  int32_t stream = -1;
  SyncKind kind = SyncKind::kUnknown;
  bool has_correlation = false;
};

// One change of the allocation level of a device (nsys memory usage events, Kineto [memory]).
struct AllocationRecord {
  int64_t time_ns = 0;
  int64_t delta_bytes = 0;
  uint32_t process = 0;
  int32_t device = 0;
};

struct LaunchShape {
  int32_t grid[3] = {0, 0, 0};
  int32_t block[3] = {0, 0, 0};
  friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
  friend auto operator<=>(const LaunchShape&, const LaunchShape&) = default;
};

// What a trace says about one collective operation, sequence numbers apart.
struct CollectiveMeta {
  std::string group_name;        // Kineto process group name; "" = unknown
  std::string group_desc;        // "default_pg", "mesh_tp", ...
  std::vector<int32_t> members;  // global ranks, sorted; empty = unknown (or elided, see below)
  bool members_elided = false;   // the list in the trace was cut at 30: expand it from FileContext::groups
  int32_t group_size = -1;
  uint64_t comm_hash = 0;  // NCCL communicator id; 0 = unknown
  CollectiveOp op = CollectiveOp::kUnknown;
  DataType dtype = DataType::kUnknown;
  int64_t bytes = kUnknownBytes;  // per-rank message size: send count of all-gather, receive count of reduce-scatter
  int32_t peer = -1;              // global rank of the other side, point to point
  int32_t root = -1;
  friend bool operator==(const CollectiveMeta&, const CollectiveMeta&) = default;
};

}  // namespace lockstep
