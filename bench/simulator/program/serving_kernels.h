// The compute kernels of a decoder layer in an inference server, for a number of tokens. Pure.
//
// Few tokens: the time to read the weights; many: proportional to them.
#pragma once

#include <cstdint>
#include <string_view>

#include "bench/simulator/program/step_builder.h"

namespace lockstep::serving {

// `floor_ns`: with few tokens; `token_ps`: picoseconds for each of many.
struct Cost {
  int64_t floor_ns = 0;
  int64_t token_ps = 0;
};

[[nodiscard]] TimedKernel Norm(int64_t tokens);
[[nodiscard]] TimedKernel Gemm(std::string_view tile, int32_t blocks, const Cost& cost, int64_t tokens);
[[nodiscard]] TimedKernel Rotary(int64_t tokens);
[[nodiscard]] TimedKernel StoreCache(int64_t tokens);
[[nodiscard]] TimedKernel DecodeAttention(int64_t sequences);
[[nodiscard]] TimedKernel PrefillAttention(int64_t tokens);
[[nodiscard]] TimedKernel Activation(int64_t tokens);
[[nodiscard]] TimedKernel Embedding(int64_t tokens);
[[nodiscard]] TimedKernel ArgMax(int64_t sequences);

}  // namespace lockstep::serving
