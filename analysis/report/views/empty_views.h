// A list without rows says why: a notice for each empty list view that has told nothing yet, and for the views of
// measures where nothing ran on any device.
#pragma once

#include "analysis/report/views/view_input.h"

namespace lockstep {

// `views`: the views as they were built, before --limit.
void NotifyOfEmptyViews(const ViewInput& input, const Json& views);

}  // namespace lockstep
