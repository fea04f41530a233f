// What a kernel does, told from its (demangled) name alone: communication or compute, which library, which operation.
//
// Sources of the grammar: NCCL's src/device/generate.py through its versions, RCCL, vLLM, SGLang, TensorRT-LLM,
// FlashInfer, PyTorch symmetric memory, NVSHMEM, DeepEP names. What a name cannot tell stays unknown: never a protocol,
// and for SendRecv and Generic kernels no operation. Streams tell nothing. Pure and thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/model/collective.h"

namespace lockstep {

// Bump with every change of the table that changes an answer; travels with the data.
inline constexpr int32_t kClassifierVersion = 3;

enum class Category : uint8_t { kCompute = 0, kCommunication = 1 };
[[nodiscard]] std::string_view Name(Category category);  // "compute" | "communication"

// Rough family of what the model does. Wire values: append only.
enum class Family : uint8_t {
  kOther = 0,
  kCommunication = 1,
  kGemm = 2,
  kAttention = 3,
  kNorm = 4,
  kElementwise = 5,
  kReduction = 6,
  kCopy = 7,
  kEmbedding = 8,
  kSoftmax = 9,
  kConvolution = 10,
  kMoe = 11,
  kActivation = 12,
  kRotary = 13,
  kSampling = 14,
  kSort = 15,
  kOptimizer = 16,
  kGemv = 17,
  kKvCache = 18,
  kTriton = 19,
  kAttentionPrefill = 20,
  kAttentionDecode = 21,
  kMoeRouting = 22,
  kMoeExperts = 23,
  kQuantization = 24,
};
inline constexpr Family kLastFamily = Family::kQuantization;
[[nodiscard]] std::string_view Name(Family family);

struct KernelClass {
  Category category = Category::kCompute;
  Family family = Family::kOther;
  CollectiveLibrary library = CollectiveLibrary::kNone;
  CollectiveOp op = CollectiveOp::kUnknown;
  DataType dtype = DataType::kUnknown;
  friend bool operator==(const KernelClass&, const KernelClass&) = default;
};

[[nodiscard]] KernelClass ClassifyKernel(std::string_view name);

// The function name without return type, namespaces, template and argument lists: "void at::native::foo<int>(x)" ->
// "foo".
// "(anonymous namespace)" and "<unnamed>" are taken out first.
[[nodiscard]] std::string_view BaseName(std::string_view name);

}  // namespace lockstep
