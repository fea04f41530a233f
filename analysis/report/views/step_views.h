// steps[] and pace{}: each step of each rank, and the course of the ranks over the run.
#pragma once

#include <absl/status/statusor.h>

#include "analysis/report/views/view_input.h"

namespace lockstep {

[[nodiscard]] Json StepsView(const ViewInput& input);
// kInvalidArgument: --kernels is no pattern.
[[nodiscard]] absl::StatusOr<Json> PaceView(const ViewInput& input);

}  // namespace lockstep
