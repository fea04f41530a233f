// lockstep-simulate as a function: simulates, writes the traces and the truth, or sends the run.
#pragma once

#include <absl/status/status.h>

#include <functional>
#include <string>

#include "bench/simulator/command/simulator_options.h"
#include "bench/simulator/run/scenario.h"

namespace lockstep {

// Sends a run to the aggregator that the options name.
using StreamFunction = std::function<absl::Status(const Scenario&)>;

// Options must have passed CompleteLayout; files are written if they name a folder, `stream` is called if they name an
// aggregator. kInvalidArgument: a cause or defect that cannot be placed. Everything else: the folder or a file could
// not be written (files that were finished stay), or what `stream` says.
[[nodiscard]] absl::Status RunSimulation(const SimulatorOptions& options, const StreamFunction& stream,
                                         const ProgressFunction& progress);

// What of the asked-for identifiers and defects this trace form and version cannot hold, a sentence each; "" = nothing.
[[nodiscard]] std::string LimitsOfForm(const SimulatorOptions& options);

}  // namespace lockstep
