// Kernels of which an auto-tuner chooses among variants: matrix products and convolutions of cuBLAS, cuBLASLt (nvjet),
// CUTLASS, xmma, Tensile (Cijk), MIOpen, Triton templates. The variant changes with the version, the GPU and the shape,
// so that their names are no identity. Pure and thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/model/kernel_class.h"

namespace lockstep::compare {

[[nodiscard]] bool IsTunerFamily(Family family);

// What a variant cannot change: which operands are transposed ("tn", "nn", "nt", "tt") or which pass of a convolution
// it is ("fprop", "dgrad", "wgrad"); "" where the name does not say it. Source: the naming of the libraries above,
// checked with names of public traces. Reads at most the first 4,096 bytes.
[[nodiscard]] std::string TunerLayout(std::string_view name);

// Whether the name has a tile size, like 128x64, or is one of nvjet: the name of a variant, not of a function.
[[nodiscard]] bool IsNamedByTile(std::string_view name);

// Whether a kernel with these words (WordsOfStem, WordsOfTemplateList) is a product and nothing else: "gemv2T_kernel",
// and not "fused_gemm_layer_norm".
[[nodiscard]] bool SayOnlyProduct(const std::vector<std::string>& words);

// Whether one of the words says that a product is in it.
[[nodiscard]] bool SayProduct(const std::vector<std::string>& words);

// A kernel that only sums up the parts of a split product. Not a variant of the product.
[[nodiscard]] bool IsSplitKHelper(std::string_view name);

}  // namespace lockstep::compare
