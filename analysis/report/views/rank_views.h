// The views that show one rank after the other: idle[], steps[], pace{}.
#pragma once

#include "analysis/report/views/view_input.h"

namespace lockstep {

[[nodiscard]] Json IdleView(const ViewInput& input);
[[nodiscard]] Json StepsView(const ViewInput& input);
[[nodiscard]] Json PaceView(const ViewInput& input);

}  // namespace lockstep
