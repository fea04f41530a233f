// The first sentences of the summary: who makes whom wait, or why that cannot be told and what would help.
#pragma once

#include <string>

#include "analysis/report/rows/run.h"
#include "analysis/report/rows/summary.h"
#include "analysis/report/text/text_page.h"

namespace lockstep {

// What cannot be told comes first where it could change who is named.
void WriteHeadline(const report::Summary& summary, const report::Run& run, TextPage& page);

// Who may cost more than all that are named, while the steps do not decide it. Nothing where nobody is named: then it
// is in the headline.
void WriteWhoLooksLate(const report::Summary& summary, TextPage& page);

// "rank 3", "host node1", "rail 2".
[[nodiscard]] std::string NameOfCulprit(const report::Culprit& culprit);

}  // namespace lockstep
