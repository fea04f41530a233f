// One run compared with itself (statistics/self_check.h): how often this comparison would raise a false alarm on it.
// Pure, thread safe.
#pragma once

#include <string>

#include "analysis/compare/compared_run.h"
#include "analysis/compare/rows/self.h"
#include "analysis/report/report.h"

namespace lockstep::compare {

[[nodiscard]] report::SelfComparison CompareWithItself(const ComparedRun& run);

[[nodiscard]] std::string RenderJson(const report::SelfComparison& checked);
[[nodiscard]] std::string RenderText(const report::SelfComparison& checked, const TextOptions& options);

}  // namespace lockstep::compare
