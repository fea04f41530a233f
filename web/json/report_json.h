// The text of a report document as a tree, faster than the tree's own parser: a run of a thousand ranks is told in some
// twenty megabytes. Pure, thread safe.
#pragma once

#include <string>

#include "analysis/report/report.h"

namespace lockstep {

// As Json::parse without exceptions gives it: discarded if the text is no JSON document.
[[nodiscard]] Json ParseReport(const std::string& text);

}  // namespace lockstep
