// What a model does in a stretch of time, as annotations of serving engines and training loops tell it.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

enum class Phase : uint8_t {
  kNone = 0,
  kPrefill = 1,
  kDecode = 2,
  kMixed = 3,
  kForward = 4,
  kBackward = 5,
  kOptimizer = 6,
};
[[nodiscard]] std::string_view Name(Phase phase);  // "", "prefill", "decode", "mixed", "forward", ...

// Told by: vLLM's and SGLang's "execute_[N_]context_C(...)_generation_G(...)" (C prompts, G decoding sequences),
// SGLang's "step[DECODE ...]" (EXTEND is a prefill, verification of drafts decodes), torch's "Optimizer.step#...",
// "DistributedDataParallel.forward", "autograd::engine::evaluate_function..." (backward), and
// ranges whose name is nothing but the phase ("decode", "## forward ##"). kNone: anything else.
[[nodiscard]] Phase PhaseOfRange(std::string_view name);

// One pass of a serving engine: such a range is a step where nothing else marks steps.
[[nodiscard]] bool IsEngineStep(std::string_view name);

}  // namespace lockstep
