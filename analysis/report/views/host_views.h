// host[], launches[], nvtx[]: what the host did, by API call, by launch and by range.
#pragma once

#include <absl/status/statusor.h>

#include "analysis/report/views/view_input.h"

namespace lockstep {

[[nodiscard]] Json HostView(const ViewInput& input);
[[nodiscard]] absl::StatusOr<Json> LaunchesView(const ViewInput& input);
[[nodiscard]] Json NvtxView(const ViewInput& input);

}  // namespace lockstep
