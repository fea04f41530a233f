// clock{}: which ranks share a clock. Alignment between domains is not computed in this version: every domain is a
// component of its own, with offset 0 against itself.
#pragma once

#include "analysis/report/view_input.h"

namespace lockstep {

[[nodiscard]] Json ClockView(const ViewInput& input);

}  // namespace lockstep
