// stragglers[]: who is late again and again, what it costs, and why.
#pragma once

#include "analysis/metrics/stragglers/stragglers.h"
#include "analysis/report/views/view_input.h"

namespace lockstep {

// One row a straggler, by saving. What is not decided yet, and why nothing could be tested, is told in the notices.
[[nodiscard]] Json StragglersView(const ViewInput& input, const StragglerResult& result);

}  // namespace lockstep
