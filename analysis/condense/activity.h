// One time-ordered element of a source, as the pipeline hands it to the condenser: a device activity joined with its
// launch, a device-side synchronisation, or a change of the allocation level. Plain, trivially copyable (it is sorted
// externally). Times are LocalTime ns.
#pragma once

#include <cstdint>
#include <tuple>

#include "analysis/condense/host_wait.h"
#include "analysis/condense/phase.h"
#include "analysis/model/row_values.h"
#include "analysis/model/trace_record.h"

namespace lockstep {

enum class ActivityType : uint8_t { kDevice = 0, kSync = 1, kAllocation = 2 };

// ActivityRecord::step: position in the source's StepTable, or one of these.
inline constexpr int32_t kLaunchedInNoStep = -1;
inline constexpr int32_t kNoLaunchRow = -2;

struct ActivityRecord {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;  // kAllocation: delta in bytes
  int64_t launch_start_ns = kNoTime;
  int64_t launch_end_ns = kNoTime;
  NameId name = kNoId;
  NameId mangled = kNoId;
  ShapeId shape = kNoId;
  int32_t stream = -1;
  HostWait host_wait;  // the last before the launch
  int64_t seq = kNoSeq;
  int64_t bytes = kUnknownBytes;
  int64_t graph_launch = -1;  // ordinal of the graph launch within the process
  int64_t tid = -1;           // of the launching thread; -1: not known
  uint64_t comms_id = 0;
  uint32_t source = 0;  // index of the source within the file
  NameId api = kNoId;
  NameId range = kNoId;  // around the launch, without its numbers
  MetaId meta = kNoId;
  int32_t step = kNoLaunchRow;
  ActivityType type = ActivityType::kDevice;
  DeviceKind kind = DeviceKind::kKernel;
  CopyKind copy_kind = CopyKind::kUnknown;
  MemoryKind source_memory = MemoryKind::kUnknown;
  MemoryKind target_memory = MemoryKind::kUnknown;
  SyncKind sync = SyncKind::kUnknown;
  Phase phase = Phase::kNone;  // as annotations around the launch tell it
  bool has_comms_id = false;
  bool from_graph = false;

  [[nodiscard]] int64_t end_ns() const { return start_ns + duration_ns; }
};

struct ActivityOrder {
  static auto Key(const ActivityRecord& r) {
    return std::tie(r.source, r.start_ns, r.type, r.stream, r.duration_ns, r.name, r.launch_start_ns, r.bytes, r.seq);
  }
  bool operator()(const ActivityRecord& a, const ActivityRecord& b) const { return Key(a) < Key(b); }
};

// A copy that is no device activity: host to host, or a unified-memory migration.
constexpr bool IsOffDevice(const ActivityRecord& r) {
  return r.kind == DeviceKind::kMemcpy &&
         (r.copy_kind == CopyKind::kHostToHost || r.copy_kind >= CopyKind::kUnifiedHostToDevice);
}

}  // namespace lockstep
