// A view without rows says why: a notice for an empty list that has told nothing yet, and for views of measures where
// nothing ran on any device.
#pragma once

#include <string_view>

#include "analysis/report/rows/document.h"
#include "analysis/report/views/view_input.h"

namespace lockstep {

// `document` holds the view as it was built, before --limit.
void NotifyOfEmptyView(const ViewInput& input, std::string_view view, const report::Document& document);

}  // namespace lockstep
