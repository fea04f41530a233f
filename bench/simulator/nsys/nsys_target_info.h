// The tables of an nsys export that describe the machine, the capture and the export itself.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <vector>

#include "bench/simulator/run/trace_writer.h"
#include "platform/sqlite.h"

namespace lockstep {

struct NsysSession {
  int64_t utc_epoch_ns = 0;
  int64_t duration_ns = 0;
};

// The begin of the capture on this host, by its clock.
[[nodiscard]] int64_t SessionStartOf(const RunDescription& run, int32_t host);

// nsys' 64-bit ids: VM 1, pid, and for a thread its tid.
[[nodiscard]] constexpr int64_t GlobalPid(int64_t pid) { return (int64_t{1} << 48) | (pid << 24); }
[[nodiscard]] constexpr int64_t GlobalTid(int64_t pid) { return GlobalPid(pid) | pid; }

absl::Status WriteTargetInfo(Database& db, const RunDescription& run, const HostCapture& capture,
                             const NsysSession& session);

}  // namespace lockstep
