// A simulated run straight in memory, as the aggregator would hold it, together with its truth: no file, no socket.
//
// The recorded timelines (clocks and defects applied) become the same activity records that a reader would make of the
// written traces, and go through the same condenser; so the result equals what `lockstep analyze` sees of the written
// files, apart from the tables of host calls, NVTX ranges and launches, mangled names and versions. One thread.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/model/instance_source.h"
#include "analysis/model/run_data.h"
#include "bench/simulator/command/simulator_options.h"
#include "bench/simulator/run/scenario.h"
#include "bench/simulator/run/truth.h"

namespace lockstep {

// What SimulateCondensed gives. `scenario` holds all that is known of the run (clocks, timelines, ...); the references
// name its usual parts.
struct SimulatedRun {
  explicit SimulatedRun(std::unique_ptr<Scenario> made)
      : scenario(std::move(made)),
        cluster(scenario->cluster),
        truth(scenario->truth),
        clocks(scenario->clocks.get()),
        true_instances(scenario->instances) {}

  std::unique_ptr<Scenario> scenario;
  RunData run;
  std::unique_ptr<InstanceSource> instances;
  const Cluster& cluster;
  const Truth& truth;  // ranks, causes with the step times with and without them, undecidable
  const ClockField* clocks;
  const std::vector<TrueInstance>& true_instances;
  // [source of RunData::sources][row of its stream] -> index into true_instances; -1: a record that stands for none
  // (a doubled one).
  std::vector<std::vector<int64_t>> instance_of_row;
  std::vector<int32_t> rank_of_source;  // the true rank, also where the trace does not tell it
};

struct CondensedRunOptions {
  bool step_times_without = true;  // also rerun without each cause, for the what-if truth
};

// Options must have passed CompleteLayout; ParseCommandLine is not needed.
[[nodiscard]] absl::StatusOr<std::unique_ptr<SimulatedRun>> SimulateCondensed(const SimulatorOptions& options,
                                                                              const CondensedRunOptions& what);

}  // namespace lockstep
