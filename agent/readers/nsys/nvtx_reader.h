// NVTX_EVENTS: marks, push/pop and start/end ranges, domains, steps, and NCCL's own ranges with their payload.
#pragma once

#include <absl/status/status.h>

#include "agent/readers/nsys/rank_evidence.h"
#include "agent/readers/nsys/read_session.h"

namespace lockstep::nsys {

// Last of the activity tables: ranges that were never closed end with the capture. Communicators met are logged.
absl::Status ReadNvtx(ReadSession& session, CommunicatorLog& communicators);

}  // namespace lockstep::nsys
