// The first sentences of the summary, for answers that are no text. Pure and thread safe.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/rows/document.h"

namespace lockstep {

// One sentence each, the most important first: who makes the others wait, or why that cannot be told. Empty without a
// summary.
[[nodiscard]] std::vector<std::string> HeadlineOf(const report::Document& document);

}  // namespace lockstep
