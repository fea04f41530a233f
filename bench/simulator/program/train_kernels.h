// The compute kernels of training a transformer, for one micro-batch of kTrainTokens tokens. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "bench/simulator/program/step_builder.h"

namespace lockstep::train {

inline constexpr int64_t kTrainTokens = 4096;

[[nodiscard]] TimedKernel Gemm(std::string_view tile, int32_t blocks, int64_t device_ns);
[[nodiscard]] TimedKernel Norm(bool backward);
[[nodiscard]] TimedKernel AttentionForward();
[[nodiscard]] TimedKernel AttentionBackward();
[[nodiscard]] TimedKernel Elementwise(std::string_view functor, std::string_view host_op, int64_t device_ns);
[[nodiscard]] TimedKernel Adam();
// Layers with experts.
[[nodiscard]] TimedKernel Router();
[[nodiscard]] TimedKernel Permute(bool back);
[[nodiscard]] TimedKernel ExpertGemm(std::string_view part, int64_t device_ns);

}  // namespace lockstep::train
