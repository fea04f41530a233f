// imbalance{}: how unevenly work and time lie on the ranks over the common window, and the efficiency of the fleet.
#pragma once

#include "analysis/metrics/fleet/imbalance.h"
#include "analysis/report/views/view_input.h"

namespace lockstep {

[[nodiscard]] Json ImbalanceView(const ViewInput& input, const Imbalance& imbalance);

}  // namespace lockstep
