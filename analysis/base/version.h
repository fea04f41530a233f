// The version of lockstep, as `--version` prints it. A function, so that a new version compiles one file.
#pragma once

#include <string_view>

namespace lockstep {

[[nodiscard]] std::string_view Version();

}  // namespace lockstep
