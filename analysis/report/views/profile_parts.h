// The parts of the view profile that are not steps. Pure and thread safe.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "analysis/metrics/skew/collectives.h"
#include "analysis/report/rows/profile.h"
#include "analysis/report/views/view_input.h"

namespace lockstep {

// Kernels by name, with their time in each of these steps. kInvalidArgument: --kernels is no regular expression.
[[nodiscard]] absl::StatusOr<std::vector<report::ProfileKernel>> ProfileKernels(
    const ViewInput& input, const std::vector<report::ProfileStep>& steps);

// Ordered by operation, type, bytes, members and description.
[[nodiscard]] std::vector<report::ProfileCollective> ProfileCollectives(
    const RunMatch& match, const std::vector<CollectiveRowResult>& collectives);

// What makes runs comparable, by key: versions, GPU models, number of ranks, profiler options. A key whose value
// differs between the ranks holds all of its values, separated by commas.
[[nodiscard]] report::Keyed<std::string> ContextOf(const ViewInput& input);

}  // namespace lockstep
