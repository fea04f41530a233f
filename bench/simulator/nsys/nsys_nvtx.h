// The NVTX tables of an nsys export: steps, phases, NCCL calls with their payloads, payload schemas.
#pragma once

#include <absl/status/status.h>

#include "bench/simulator/nsys/nsys_strings.h"
#include "bench/simulator/nsys/nsys_target_info.h"
#include "bench/simulator/run/trace_writer.h"
#include "platform/sqlite.h"

namespace lockstep {

absl::Status WriteNvtxTables(Database& db, const RunDescription& run, const HostCapture& capture,
                             const NsysSession& session, NsysStrings& strings);

}  // namespace lockstep
