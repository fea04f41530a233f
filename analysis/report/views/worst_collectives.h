// summary.worst_collectives[]: the rows of the collectives view that cost most waiting.
#pragma once

#include "analysis/report/views/view_input.h"

namespace lockstep {

[[nodiscard]] Json WorstCollectives(const ViewInput& input);

}  // namespace lockstep
