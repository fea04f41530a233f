// The first sentences of the summary: who makes whom wait, or why that cannot be told and what would help.
#pragma once

#include <string>

#include "analysis/report/rows/run.h"
#include "analysis/report/rows/summary.h"
#include "analysis/report/text/text_page.h"

namespace lockstep {

// What cannot be told comes first where it could change who is named.
void WriteHeadline(const report::Summary& summary, const report::Run& run, TextPage& page);

// "rank 3", "host node1", "rail 2".
[[nodiscard]] std::string NameOfCulprit(const report::Culprit& culprit);

}  // namespace lockstep
