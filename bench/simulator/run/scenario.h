// A simulated run up to what its profilers recorded, with the truth about it: what lockstep-simulate writes as files
// and what the in-memory run condenses. Pure.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/simulator/cluster/causes.h"
#include "bench/simulator/cluster/clock_field.h"
#include "bench/simulator/cluster/cluster.h"
#include "bench/simulator/cluster/defects.h"
#include "bench/simulator/engine/timeline.h"
#include "bench/simulator/run/trace_writer.h"
#include "bench/simulator/run/truth.h"

namespace lockstep {

// Called with what is being done and how far it is (0 to 1); may be empty.
using ProgressFunction = std::function<void(std::string_view, double)>;

// The members refer to each other: neither moved nor copied.
struct Scenario {
  explicit Scenario(const SimulatorOptions& given);
  Scenario(const Scenario&) = delete;
  Scenario& operator=(const Scenario&) = delete;

  SimulatorOptions options;  // as the writers should see them (`ids` after no_metadata, `files`)
  CounterRng rng;
  Cluster cluster;
  std::unique_ptr<StepProgram> plain_program;  // what causes have made `program` of; none if they leave it alone
  std::unique_ptr<StepProgram> program;
  std::vector<Cause> causes;
  std::unique_ptr<CauseEffects> effects;
  RunDescription run;
  DefectPlan defects;
  std::unique_ptr<ClockField> clocks;
  std::vector<RankTimeline> recorded;             // by rank, clocks and defects applied
  std::vector<std::vector<RecordFate>> fates;     // by rank and activity; empty where nothing was spoiled
  std::optional<RankTimeline> duplicate;          // of duplicate_rank: the other trace that claims that rank
  std::vector<TrueInstance> instances;            // by communicator and index
  std::vector<std::vector<int32_t>> instance_of;  // by rank and activity: into `instances`, -1 = no collective
  Truth truth;
};

struct ScenarioOptions {
  bool step_times_without = true;  // run again without each cause
};

// Options must have passed CompleteLayout. kInvalidArgument: a cause or defect that cannot be placed.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Scenario>> MakeScenario(const SimulatorOptions& options,
                                                                     const ScenarioOptions& what,
                                                                     const ProgressFunction& progress);

// Whether the causes and defects of these options can be placed; what MakeScenario would say, without the simulation.
[[nodiscard]] absl::Status CheckPlaces(const SimulatorOptions& options);

// Unix time that stands as 0 in the trace of this rank; 0: its trace counts from the Unix epoch.
[[nodiscard]] int64_t ZeroOfFile(const RunDescription& run, int32_t rank);

}  // namespace lockstep
