// kernels[] and families[]: durations by kernel name (or as --group-by says) and by family.
#pragma once

#include <absl/status/statusor.h>

#include "analysis/report/views/view_input.h"

namespace lockstep {

// kInvalidArgument: --kernels is no regular expression.
[[nodiscard]] absl::StatusOr<Json> KernelsView(const ViewInput& input);
[[nodiscard]] absl::StatusOr<Json> FamiliesView(const ViewInput& input);

}  // namespace lockstep
