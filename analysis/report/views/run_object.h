// run{}: which run this is, what is present, and what was restricted.
#pragma once

#include <absl/status/statusor.h>

#include <string_view>

#include "analysis/report/rows/run.h"
#include "analysis/report/views/view_input.h"

namespace lockstep {

[[nodiscard]] report::Run RunObject(const ViewInput& input);

// "tp=8,pp=2,dp=4[,order=tp-dp-pp]". kInvalidArgument: says what is wrong with it.
[[nodiscard]] absl::StatusOr<report::LayoutOfRun> ParseLayout(std::string_view text);

}  // namespace lockstep
