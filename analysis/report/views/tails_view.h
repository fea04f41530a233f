// tails[]: kernels that lose time in rare long instances, and where those lie.
#pragma once

#include <absl/status/statusor.h>

#include <vector>

#include "analysis/metrics/kernels/tails.h"
#include "analysis/report/views/view_input.h"

namespace lockstep {

// The rows behind the view; the summary shows the worst of them. kInvalidArgument: --kernels is no regular expression.
[[nodiscard]] absl::StatusOr<std::vector<TailRow>> TailsOf(const ViewInput& input);
[[nodiscard]] Json TailsView(const ViewInput& input, const std::vector<TailRow>& tails);

}  // namespace lockstep
