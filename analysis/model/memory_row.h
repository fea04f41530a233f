// Copies, memsets and allocated memory of one source.
#pragma once

#include <cstdint>

#include "analysis/model/trace_record.h"
#include "analysis/stats/sketch.h"

namespace lockstep {

// Copies and memsets by kind.
struct MemoryRow {
  bool is_memset = false;
  CopyKind kind = CopyKind::kUnknown;
  MemoryKind source = MemoryKind::kUnknown;
  MemoryKind target = MemoryKind::kUnknown;
  bool on_device = true;  // false: host-to-host or unified-memory migration, no device activity
  int64_t blocking = 0;   // operations whose call returned only after the copy had ended
  Sketch duration;
  Sketch bytes;                  // operations of known size
  Sketch bandwidth_bytes_per_s;  // operations of known size and non-zero duration
  friend bool operator==(const MemoryRow&, const MemoryRow&) = default;
};

struct AllocationPoint {
  int64_t time_ns = 0;
  int64_t level_bytes = 0;
  friend bool operator==(const AllocationPoint&, const AllocationPoint&) = default;
};

}  // namespace lockstep
