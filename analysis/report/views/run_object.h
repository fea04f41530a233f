// run{}: which run this is, what is present, and what was restricted.
#pragma once

#include "analysis/report/rows/run.h"
#include "analysis/report/views/view_input.h"

namespace lockstep {

[[nodiscard]] report::Run RunObject(const ViewInput& input);

}  // namespace lockstep
