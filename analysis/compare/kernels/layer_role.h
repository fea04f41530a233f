// Which part of a model a kernel belongs to, coarser than its family, so that runs of different frameworks compare.
// Pure and thread safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/model/kernel_class.h"

namespace lockstep::compare {

enum class LayerRole : uint8_t {
  kOther,
  kAttention,    // with softmax, rotary embedding and the KV cache
  kFeedForward,  // matrix products wherever they are, convolutions, experts of a mixture
  kNorm,
  kElementwise,  // with activations, reductions and quantization
  kCommunication,
  kSampling,
  kEmbedding,
  kOptimizer,
  kCopy,
};
[[nodiscard]] std::string_view Name(LayerRole role);

// By the family; where that says little (other, elementwise, reduction, softmax, TorchInductor's fused kernels), by the
// operations in the name and then by the range around the kernel. Linear in the lengths.
[[nodiscard]] LayerRole FamilyRole(const KernelClass& kind, std::string_view name, std::string_view range);

}  // namespace lockstep::compare
