// A program whose steps some causes have changed: pieces of kernels, synchronisations, allocations, copies that the
// program itself does not have, prompts between decode steps. Pure.
//
// What a cause adds has random numbers of its own and everything else keeps its own, so that leaving one cause out
// changes no other's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bench/simulator/cluster/causes.h"
#include "bench/simulator/cluster/cluster.h"
#include "bench/simulator/program/step_program.h"

namespace lockstep {

// What runs without the causes. `options` and `program` outlive what is made of it.
struct PlainProgram {
  const SimulatorOptions* options = nullptr;
  const StepProgram* program = nullptr;
  int32_t world = 0;
};

class ConditionedProgram : public StepProgram {
 public:
  // `without`: the cause that is left out; kernels() is the same with and without it. Causes that leave the program as
  // it is are passed over.
  ConditionedProgram(const PlainProgram& plain, const std::vector<Cause>& causes, std::optional<size_t> without);

  [[nodiscard]] const StepOps& StepOf(int32_t step, int32_t rank) const override;

 private:
  // One cause, and what it needs that does not depend on the step.
  struct Change {
    Cause cause;
    bool left_out = false;
    std::vector<uint32_t> pieces;  // small_kernels: the kernels that the others are made into
    StepOps prompt;                // prefill_mix
  };
  using Changes = uint64_t;  // a bit for each one that strikes a rank

  uint32_t Add(const KernelShape& shape);
  [[nodiscard]] StepOps PromptOf(const PlainProgram& plain, double factor);
  [[nodiscard]] const StepOps& PlainStepOf(int32_t step, int32_t rank) const;
  [[nodiscard]] StepOps Changed(const StepOps& step, Changes which) const;

  const StepProgram& plain_;
  std::vector<Change> changes_;
  std::vector<Changes> of_rank_;
  std::map<std::pair<const StepOps*, Changes>, StepOps> steps_;
};

// Some cause needs it.
[[nodiscard]] bool AnyChangesProgram(const std::vector<Cause>& causes);

}  // namespace lockstep
