// The smaller activity tables: synchronisation, allocation levels, and the profiler's own overhead.
#pragma once

#include <absl/status/status.h>

#include "agent/readers/nsys/read_session.h"

namespace lockstep::nsys {

absl::Status ReadSynchronization(ReadSession& session);
absl::Status ReadAllocations(ReadSession& session);
// Sums the profiler's own rows inside the window of device activity: call after the device tables.
absl::Status ReadOverhead(ReadSession& session);

}  // namespace lockstep::nsys
