// quality{}: gates, drop counters by rank, files.
#pragma once

#include "analysis/metrics/quality.h"
#include "analysis/report/view_input.h"

namespace lockstep {

[[nodiscard]] Json QualityView(const ViewInput& input, const Quality& quality);

}  // namespace lockstep
