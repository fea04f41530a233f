// What names of Kineto rows say: categories, API calls, copies, synchronisations. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "agent/readers/kineto/fields.h"
#include "analysis/model/trace_record.h"

namespace lockstep::kineto {

[[nodiscard]] Category CategoryOf(std::string_view text);
[[nodiscard]] std::optional<Arg> ArgOf(std::string_view key);

// CUDA runtime, CUDA driver and HIP names.
[[nodiscard]] ApiKind ApiKindOf(std::string_view name);
[[nodiscard]] SyncKind SyncKindOf(std::string_view name);

// "Memcpy HtoD (Pinned -> Device)"; what the name does not say stays kUnknown.
struct CopyName {
  CopyKind kind = CopyKind::kUnknown;
  MemoryKind source = MemoryKind::kUnknown;
  MemoryKind target = MemoryKind::kUnknown;
};
[[nodiscard]] CopyName CopyNameOf(std::string_view name);
// The memory of "Memset (Device)".
[[nodiscard]] MemoryKind MemsetTargetOf(std::string_view name);

// N of "ProfilerStep#N"; nothing for other names.
[[nodiscard]] std::optional<int64_t> StepNumberOf(std::string_view name);

}  // namespace lockstep::kineto
