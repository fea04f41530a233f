// The last lines of the summary: which view or command to look at next, and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/summary/summary.h"
#include "analysis/report/views/view_input.h"
#include "analysis/report/views/views.h"

namespace lockstep {

struct NextStepsInput {
  RunVerdict verdict = RunVerdict::kInconclusive;
  const std::optional<TimeShare>& share;
  const WaitBlame& blame;
  const SummaryParts& parts;
};

// At most five lines, the most useful first.
[[nodiscard]] std::vector<std::string> NextSteps(const ViewInput& input, const NextStepsInput& next);

}  // namespace lockstep
