// CUPTI_ACTIVITY_KIND_RUNTIME: runtime and driver API calls (the one table holds both).
#pragma once

#include <absl/status/status.h>

#include "agent/readers/nsys/graph_launches.h"
#include "agent/readers/nsys/read_session.h"

namespace lockstep::nsys {

// Fills context().api_rows and leaves `graphs` sealed.
absl::Status ReadApi(ReadSession& session, GraphLaunches& graphs);

}  // namespace lockstep::nsys
