// Runs a program on a cluster and gives the true timeline of every rank.
//
// Host: one thread a rank; each call costs dispatch and call time, the launch queue holds 1,024 kernels, a stream
// synchronisation waits for the device. Device: a kernel starts when its launch has reached it, its stream predecessor
// has ended and what its stream waits for is done; kernels of a CUDA graph start one after the other once its launch
// has reached the device. Collectives are NCCL's: a member's kernel starts on its own; all-pairs operations end one
// transfer after the last member has started, so that early members' kernels are long, and no member ends before the
// last has started; in a broadcast or reduction nobody ends before those whose data it needs have started; a sender may
// end before its receiver starts, a receiver never before its sender starts. Pure: the
// same arguments give the same timelines.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/simulator/cluster/causes.h"
#include "bench/simulator/cluster/cluster.h"
#include "bench/simulator/cluster/counter_rng.h"
#include "bench/simulator/engine/timeline.h"
#include "bench/simulator/program/step_program.h"

namespace lockstep {

struct SimulationInput {
  const Cluster* cluster = nullptr;
  const StepProgram* program = nullptr;
  const CauseEffects* effects = nullptr;
  CounterRng rng{1};
  NoiseModel noise;
  int32_t steps = 1;
  int64_t start_ns = 0;                   // true time at which the ranks begin
  bool keep_records = true;               // false: only the step spans are kept (for comparing run times)
  std::function<void(int32_t)> progress;  // after each step; may be empty
};

[[nodiscard]] std::vector<RankTimeline> Simulate(const SimulationInput& input);

using StepsOfRanks = std::vector<std::vector<StepSpan>>;  // by rank; each has all steps
[[nodiscard]] StepsOfRanks StepsOf(const std::vector<RankTimeline>& ranks);

// Steps by number, both ends included.
struct StepRange {
  size_t first = 0;
  size_t last = 0;
};

// Mean length of a step of these: from when the last rank's host ends the step before them (of the run's first step:
// from when the first one begins it) to when the last one ends the last of them.
[[nodiscard]] int64_t MeanStepNs(const StepsOfRanks& ranks, const StepRange& range);
[[nodiscard]] int64_t MeanStepNs(const std::vector<RankTimeline>& ranks);  // of all steps

}  // namespace lockstep
