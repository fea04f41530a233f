// Answers as one self-contained HTML page (web/page/page.h). Errors: kUnimplemented in a build without pages.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>

#include "analysis/compare/rows/comparison.h"
#include "analysis/report/report.h"

namespace lockstep {

// Before anything is computed: whether this program can make pages.
[[nodiscard]] absl::Status CheckPages();

// `report` has the views of PageViews().
[[nodiscard]] absl::StatusOr<std::string> ReportPage(Json report);
[[nodiscard]] absl::StatusOr<std::string> ComparisonPage(const report::ComparisonDocument& comparison);

}  // namespace lockstep
