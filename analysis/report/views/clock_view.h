// clock{}: which ranks share a clock, how the clocks of the hosts were aligned, and below what nothing can be told.
//
// One row of hosts[] a clock domain. offset_ns, certified_ns and sigma_ns are those of the knot nearest to the middle
// of the run (at_ns); uncertainty_ns is the half-width of the 95 % interval of the offset against the reference,
// inside_ns the worst one between two devices of the host. not_resolvable_below_ns of a component is the worst of all
// its pairs: arrivals that lie closer may have come in either order. Times are relative to the run's start on the
// aligned axis.
#pragma once

#include "analysis/report/views/view_input.h"

namespace lockstep {

[[nodiscard]] Json ClockView(const ViewInput& input);

}  // namespace lockstep
