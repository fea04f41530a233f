// What a kernel's name says about what it computes: its stem and the words for its operations.
// Linear in the length of the name, except that words are sorted. Pure and thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/kernels/name_tokens.h"

namespace lockstep::compare {

// TorchInductor's names, triton_<kind>_fused_<operations>_<ordinal>: the ordinal is another one in each compilation.
[[nodiscard]] bool IsInductorName(std::string_view base);

// A base name without what compilers append: ordinals of TorchInductor, Triton's argument signature (_0d1d2de), hashes,
// ".kd", ".constprop.0".
[[nodiscard]] std::string StemOf(std::string_view base);

// A stem in lower case without underscores, "kernel" and a version at its end: "RMSNormKernel_v2" -> "rmsnorm".
[[nodiscard]] std::string PlainStem(std::string_view stem);

// Kernels of a library whose base name says nothing, as the operation is a template argument: elementwise_kernel,
// reduce_kernel, cutlass::Kernel.
[[nodiscard]] bool IsContainer(std::string_view plain_stem);

// Words of operations, lower case, sorted: "vectorized_add_rmsNorm_kernel" -> add, norm, rms. Types, sizes and words
// that say nothing of the operation are left out. A stem may name an operation twice; of a template list, in which
// types are repeated, each word is there once.
[[nodiscard]] std::vector<std::string> WordsOfStem(std::string_view stem);
[[nodiscard]] std::vector<std::string> WordsOfTemplateList(const std::vector<NameToken>& list);
// Sorts the words and keeps each once.
void SortOnce(std::vector<std::string>& words);

// Common words by the smaller number of words; 1 where either has none.
[[nodiscard]] double SharedWords(const std::vector<std::string>& a, const std::vector<std::string>& b);
// Common words by the number of all words; 1 where both have none.
[[nodiscard]] double WordsInCommon(const std::vector<std::string>& a, const std::vector<std::string>& b);

}  // namespace lockstep::compare
