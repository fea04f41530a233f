// Runs for tests, as a simulator's command line describes them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/simulator/run/condensed_run.h"

namespace lockstep {

// The condensed run of these flags, of one seed. A test fails where they are no such command.
[[nodiscard]] std::unique_ptr<SimulatedRun> Simulated(const std::vector<std::string>& flags, int seed = 7);

}  // namespace lockstep
