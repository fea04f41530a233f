// collectives[]: one row per (communicator, operation, type, bytes, library), most waiting first. Bandwidths are
// decimal gigabytes per second (1e9 bytes).
#pragma once

#include <vector>

#include "analysis/metrics/skew/collectives.h"
#include "analysis/report/analysis_context.h"
#include "analysis/report/report.h"

namespace lockstep {

[[nodiscard]] Json CollectivesView(const AnalysisContext& context, const std::vector<CollectiveRowResult>& rows);

}  // namespace lockstep
