// A simulated run straight into an aggregator, as the agents of its hosts would send it: no file is written.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <string>

#include "bench/simulator/run/scenario.h"

namespace lockstep {

struct FleetStreamOptions {
  std::string address;  // HOST:PORT, plaintext
  std::string run;
  size_t jobs = 0;  // agents at a time; 0 = as many as the machine has threads
};

// One agent for each file: a rank's of Kineto, a host's of nsys. Returns when the aggregator has everything, and the
// run is finished. Errors: what the uplink says (kUnavailable after 60 s without an aggregator); kFailedPrecondition if
// a source was refused.
[[nodiscard]] absl::Status StreamFleet(const Scenario& scenario, const FleetStreamOptions& options,
                                       const ProgressFunction& progress);

}  // namespace lockstep
