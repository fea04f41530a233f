// lockstep-simulate as a function: simulates, writes the traces and the truth.
#pragma once

#include <absl/status/status.h>

#include <string>

#include "bench/simulator/command/simulator_options.h"
#include "bench/simulator/run/scenario.h"

namespace lockstep {

// Options must have passed CompleteLayout. kInvalidArgument: a cause or defect that cannot be placed. Everything else:
// the folder or a file could not be written; files that were finished stay.
[[nodiscard]] absl::Status RunSimulation(const SimulatorOptions& options, const ProgressFunction& progress);

// What of the asked-for identifiers and defects this trace form and version cannot hold, a sentence each; "" = nothing.
[[nodiscard]] std::string LimitsOfForm(const SimulatorOptions& options);

}  // namespace lockstep
