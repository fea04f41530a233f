// lockstep-simulate as a function: simulates, writes the traces and the truth.
#pragma once

#include <absl/status/status.h>

#include <functional>
#include <string_view>

#include "bench/simulator/simulator_options.h"

namespace lockstep {

// Called with what is being done and how far it is (0 to 1); may be empty.
using ProgressFunction = std::function<void(std::string_view, double)>;

// Options must have passed CompleteLayout. kInvalidArgument: a cause that cannot be placed. Everything else: the folder
// or a file could not be written; files that were finished stay.
[[nodiscard]] absl::Status RunSimulation(const SimulatorOptions& options, const ProgressFunction& progress);

// What of the asked-for identifiers this trace form and version cannot hold, in one sentence; "" = nothing.
[[nodiscard]] std::string LimitsOfForm(const SimulatorOptions& options);

}  // namespace lockstep
