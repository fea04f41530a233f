// findings[]: what is wrong, with evidence, cause and next action. See analysis/metrics/findings/findings.h.
#pragma once

#include <vector>

#include "analysis/metrics/findings/findings.h"
#include "analysis/report/views/view_input.h"

namespace lockstep {

[[nodiscard]] Json FindingsView(const ViewInput& input, const std::vector<Finding>& findings);

}  // namespace lockstep
