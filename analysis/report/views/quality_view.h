// quality{}: gates, drop counters by rank, files.
#pragma once

#include "analysis/metrics/summary/quality.h"
#include "analysis/report/views/view_input.h"

namespace lockstep {

[[nodiscard]] Json QualityView(const ViewInput& input, const Quality& quality);

}  // namespace lockstep
