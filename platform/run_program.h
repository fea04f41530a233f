// Runs another program and waits for it, its output discarded. Thread safe.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

namespace lockstep {

// The exit code (128 + signal when killed). argv[0] is looked up on the PATH; kNotFound when it is not there.
absl::StatusOr<int> RunProgram(const std::vector<std::string>& argv);

}  // namespace lockstep
