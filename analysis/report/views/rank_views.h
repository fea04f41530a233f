// idle[]: why each rank's device had nothing to do.
#pragma once

#include "analysis/report/views/view_input.h"

namespace lockstep {

[[nodiscard]] Json IdleView(const ViewInput& input);

}  // namespace lockstep
