// overlap[]: per rank how its time divides into compute, communication, copies and idle. Identities: METRICS.md.
#pragma once

#include "analysis/report/views/view_input.h"

namespace lockstep {

[[nodiscard]] Json OverlapView(const ViewInput& input);

}  // namespace lockstep
