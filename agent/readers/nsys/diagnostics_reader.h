// The capture's own warnings, and what to say about a file with nothing on the device.
#pragma once

#include <absl/status/status.h>

#include "agent/readers/nsys/graph_launches.h"
#include "agent/readers/nsys/read_session.h"

namespace lockstep::nsys {

// Adds lines to context().diagnostics. Never text from the program's output, its environment or its command line.
absl::Status ReadDiagnostics(ReadSession& session, const GraphLaunches& graphs);

}  // namespace lockstep::nsys
