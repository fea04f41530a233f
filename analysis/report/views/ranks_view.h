// ranks[]: which source each rank is, on which device, how that was found out. Ranks that pass --ranks, ascending.
#pragma once

#include "analysis/report/analysis_context.h"
#include "analysis/report/report.h"

namespace lockstep {

[[nodiscard]] Json RanksView(const AnalysisContext& context);

}  // namespace lockstep
