// run{}: which run this is, what is present, and what was restricted.
#pragma once

#include <absl/status/statusor.h>

#include <string_view>

#include "analysis/report/views/view_input.h"

namespace lockstep {

[[nodiscard]] Json RunObject(const ViewInput& input);

// "tp=8,pp=2,dp=4[,order=tp-dp-pp]" as an object. kInvalidArgument: says what is wrong with it.
[[nodiscard]] absl::StatusOr<Json> ParseLayout(std::string_view text);

}  // namespace lockstep
