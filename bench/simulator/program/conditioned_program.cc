#include "bench/simulator/program/conditioned_program.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/base/check.h"
#include "bench/simulator/program/step_changes.h"

namespace lockstep {
namespace {

constexpr double kPrefillMixTokens = 2'048;

}  // namespace

bool AnyChangesProgram(const std::vector<Cause>& causes) {
  return std::any_of(causes.begin(), causes.end(), [](const Cause& cause) { return ChangesProgram(cause.kind); });
}

ConditionedProgram::ConditionedProgram(const PlainProgram& plain, const std::vector<Cause>& causes,
                                       std::optional<size_t> without)
    : plain_(*plain.program), of_rank_(static_cast<size_t>(plain.world)) {
  kernels_ = plain_.kernels();
  for (size_t i = 0; i < causes.size(); ++i) {
    if (!ChangesProgram(causes[i].kind)) continue;
    Change change{.cause = causes[i], .left_out = without == i};
    if (change.cause.kind == InjectedKind::kPrefillMix) change.prompt = PromptOf(plain, change.cause.factor);
    if (change.cause.kind == InjectedKind::kSmallKernels) {
      for (const KernelShape& shape : ElementwiseKernels()) change.pieces.push_back(Add(shape));
    }
    LOCKSTEP_CHECK(changes_.size() < std::numeric_limits<Changes>::digits);
    for (const int32_t rank : change.cause.ranks) {
      if (!change.left_out) of_rank_[static_cast<size_t>(rank)] |= Changes{1} << changes_.size();
    }
    changes_.push_back(std::move(change));
  }
  for (int32_t step = 0; step < plain.options->steps; ++step) {
    for (int32_t rank = 0; rank < plain.world; ++rank) {
      const std::pair key(&PlainStepOf(step, rank), of_rank_[static_cast<size_t>(rank)]);
      if (!steps_.contains(key)) steps_.emplace(key, Changed(*key.first, key.second));
    }
  }
}

uint32_t ConditionedProgram::Add(const KernelShape& shape) {
  const auto same = std::find_if(kernels_.begin(), kernels_.end(), [&](const KernelShape& known) {
    return known.name == shape.name && known.shape == shape.shape;
  });
  const auto index = static_cast<uint32_t>(same - kernels_.begin());
  if (same == kernels_.end()) kernels_.push_back(shape);
  return index;
}

StepOps ConditionedProgram::PromptOf(const PlainProgram& plain, double factor) {
  const auto program =
      MakePromptProgram(*plain.options, std::max<int64_t>(1, std::llround(kPrefillMixTokens * factor)));
  StepOps prompt = program->StepOf(0, 0);
  for (Op& op : prompt.ops) {
    if (op.kind == OpKind::kKernel || op.kind == OpKind::kCollective) op.kernel = Add(program->kernels()[op.kernel]);
  }
  return prompt;
}

const StepOps& ConditionedProgram::PlainStepOf(int32_t step, int32_t rank) const {
  for (const Change& change : changes_) {
    const bool takes_in = change.cause.kind == InjectedKind::kPrefillMix && !change.left_out;
    if (takes_in && (step + 1) % change.cause.every == 0) return change.prompt;
  }
  return plain_.StepOf(step, rank);
}

const StepOps& ConditionedProgram::StepOf(int32_t step, int32_t rank) const {
  return steps_.at({&PlainStepOf(step, rank), of_rank_[static_cast<size_t>(rank)]});
}

StepOps ConditionedProgram::Changed(const StepOps& step, Changes which) const {
  StepOps changed = step;
  for (size_t i = 0; i < changes_.size(); ++i) {
    const Cause& cause = changes_[i].cause;
    if ((which >> i & 1) == 0 || cause.kind == InjectedKind::kPrefillMix) continue;
    if (cause.kind == InjectedKind::kSmallKernels) {
      changed = WithSmallKernels(changed, cause, kernels_, changes_[i].pieces);
    } else if (cause.kind == InjectedKind::kUnevenTraffic) {
      changed = WithUnevenTraffic(changed, cause);
    } else {
      changed = WithFurtherOps(changed, cause);
    }
  }
  return changed;
}

}  // namespace lockstep
