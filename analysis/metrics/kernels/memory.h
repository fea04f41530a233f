// Copies and memsets of the fleet by kind. Counts, bytes and time are exact; whole sources only. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/metrics/fleet/fleet.h"

namespace lockstep {

[[nodiscard]] std::string_view Name(CopyKind kind);    // "host_to_device", ..., "unknown"
[[nodiscard]] std::string_view Name(MemoryKind kind);  // "pageable", "pinned", "device", ..., "unknown"

struct MemoryPlaces {
  MemoryKind source = MemoryKind::kUnknown;
  MemoryKind target = MemoryKind::kUnknown;
  int64_t operations = 0;
  int64_t bytes = 0;  // of the operations of known size
  int64_t total_ns = 0;
};

struct MemoryGroup {
  std::string kind;  // "memset", or the direction of a copy
  int64_t operations = 0;
  int64_t total_ns = 0;
  int64_t blocking = 0;  // the call returned only after the copy had ended
  Sketch duration;
  Sketch bytes;                      // operations of known size
  Sketch bandwidth_bytes_per_s;      // operations of known size and non-zero duration
  std::vector<MemoryPlaces> places;  // by total time descending, then source, then target
};

// By total time descending, then kind.
[[nodiscard]] std::vector<MemoryGroup> ComputeMemory(const Fleet& fleet);

}  // namespace lockstep
