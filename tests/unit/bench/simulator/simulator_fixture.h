// What several tests of the simulator need: a scratch folder, and a small run ready to be simulated.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/simulator/cluster/causes.h"
#include "bench/simulator/cluster/cluster.h"
#include "bench/simulator/command/simulator_options.h"
#include "bench/simulator/engine/simulation.h"
#include "bench/simulator/program/step_program.h"
#include "platform/temp_dir.h"

namespace lockstep {

class ScratchFolder {
 public:
  ScratchFolder() {
    auto made = TempDir::Create("", "lockstep-simulator-");
    EXPECT_TRUE(made.ok()) << made.status();
    if (made.ok()) dir_.emplace(*std::move(made));
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return dir_->path() + "/" + name; }

 private:
  std::optional<TempDir> dir_;
};

// A run of the program with causes, to be simulated with all of them or without one.
struct CausedRun {
  static constexpr int64_t kStartNs = 1'000'000'000;

  explicit CausedRun(SimulatorOptions given) : options(std::move(given)), rng(options.seed) {
    EXPECT_TRUE(CompleteLayout(options).ok());
    cluster = MakeCluster(options, rng);
    program = MakeProgram(options);
    auto placed = PlaceCauses(options.causes, cluster, rng);
    EXPECT_TRUE(placed.ok()) << placed.status();
    if (placed.ok()) causes = *std::move(placed);
  }
  [[nodiscard]] CauseEffects Effects(std::optional<size_t> without = std::nullopt) const {
    return {causes, without, cluster.world(), rng, &cluster, program.get(), options.steps};
  }
  [[nodiscard]] std::vector<RankTimeline> Simulated(std::optional<size_t> without = std::nullopt) const {
    const CauseEffects effects = Effects(without);
    return Simulate({.cluster = &cluster,
                     .program = program.get(),
                     .effects = &effects,
                     .rng = rng,
                     .noise = options.noise,
                     .steps = options.steps,
                     .start_ns = kStartNs});
  }
  [[nodiscard]] const Op& OpOf(size_t rank, const Activity& activity) const {
    return program->StepOf(activity.step, static_cast<int32_t>(rank)).ops[activity.op];
  }

  SimulatorOptions options;
  CounterRng rng;
  Cluster cluster;
  std::unique_ptr<StepProgram> program;
  std::vector<Cause> causes;
};

// Ops given one by one.
class GivenProgram : public StepProgram {
 public:
  explicit GivenProgram(std::vector<StepOps> by_rank) : by_rank_(std::move(by_rank)) { kernels_.resize(1); }
  const StepOps& StepOf(int32_t, int32_t rank) const override { return by_rank_[static_cast<size_t>(rank)]; }

 private:
  std::vector<StepOps> by_rank_;
};

// Eight tensor-parallel ranks, 12 short steps.
[[nodiscard]] inline SimulatorOptions SmallDecode(std::vector<Spec> causes = {}) {
  return {.program = ProgramKind::kDecode, .tp = 8, .steps = 12, .layers = 6, .seed = 3, .causes = std::move(causes)};
}

}  // namespace lockstep
