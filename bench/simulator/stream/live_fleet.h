// A simulated run as sources send it that are watched while they run: every so often each sends what ended since, and
// what was sent is told as soon as the aggregator has it.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <string>

#include "bench/simulator/run/scenario.h"

namespace lockstep {

struct LiveFleetOptions {
  std::string address;  // HOST:PORT, plaintext
  std::string run;
  int64_t stretch_ns = 1'000'000'000;  // of the run's time, in a batch
  double pace = 1;                     // of the run's time in that of the wall
};

// What the aggregator has acknowledged.
struct LiveProgress {
  int64_t sent_ns = 0;  // of the run's time: all that ended until then
  int64_t run_ns = 0;   // all of it
  int64_t instances = 0;
};

// One agent for each file, as StreamFleet; all of one stretch are sent at once, and the next ones not before their time
// nor before these are acknowledged. `told` is called once a stretch, in this thread. What a source says of itself at
// its begin (window, counts) is that of the whole run, which a live source would not know. Errors: as StreamFleet.
[[nodiscard]] absl::Status StreamLive(const Scenario& scenario, const LiveFleetOptions& options,
                                      const std::function<void(const LiveProgress&)>& told);

}  // namespace lockstep
