// The report document out of what was computed: the views asked for, in one document or each in its own.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "analysis/report/instance_sums.h"
#include "analysis/report/report.h"
#include "analysis/report/views/view_input.h"

namespace lockstep {

// The views asked for, "all" expanded, in the order of KnownViews().
[[nodiscard]] std::vector<std::string> ShownViews(const AnalysisOptions& options);

// Both use the sums up. Errors: those of the views (bad patterns) and of the list options.
[[nodiscard]] absl::StatusOr<Json> BuildWhole(const ViewInput& input, InstanceSums& sums,
                                              const AnalysisOptions& options);
[[nodiscard]] absl::Status BuildEach(const ViewInput& input, InstanceSums& sums, const AnalysisOptions& options,
                                     const ViewSink& sink);

}  // namespace lockstep
