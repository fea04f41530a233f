// The nsys SQLite export as a trace format of the registry.
#pragma once

#include "agent/readers/trace_reader.h"

namespace lockstep {

[[nodiscard]] const TraceFormat& NsysFormat();

}  // namespace lockstep
