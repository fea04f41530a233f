// --sort KEY and --limit N, applied to the views that are lists.
#pragma once

#include <absl/status/status.h>

#include "analysis/metrics/run/analysis_options.h"
#include "analysis/report/report.h"

namespace lockstep {

// KEY is a field of the view's rows; nested objects are reached by "_" or "." ("duration_ns_p99"). Numbers sort
// descending, text ascending, rows without a value last; equal rows keep their order. A list whose rows lack the key
// keeps its order. kInvalidArgument: no list of the report has that key.
[[nodiscard]] absl::Status ApplyListOptions(const AnalysisOptions& options, Json& views);

}  // namespace lockstep
