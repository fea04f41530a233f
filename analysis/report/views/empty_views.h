// A list without rows says why: a notice for each empty list view that has told nothing yet.
#pragma once

#include "analysis/report/views/view_input.h"

namespace lockstep {

// `views`: the views as they were built, before --limit.
void NotifyOfEmptyViews(const ViewInput& input, const Json& views);

// Under --nvtx: what `idle` of a view of intervals is.
void NotifyOfIdleInRanges(const ViewInput& input, std::string_view view);

}  // namespace lockstep
