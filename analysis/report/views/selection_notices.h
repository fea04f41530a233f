// What a person must know of a selection: what of it is empty, where it does not reach, what it could not tell.
#pragma once

#include "analysis/report/views/view_input.h"

namespace lockstep {

// `asked`: the views that are shown.
void NotifyOfSelection(const ViewInput& input, const std::vector<std::string>& asked);

// Under --nvtx; for the views that measure idle time.
void NotifyOfIdleInRanges(const ViewInput& input, std::string_view view);

}  // namespace lockstep
