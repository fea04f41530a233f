#include "analysis/compare/kernels/layer_role.h"

#include <array>
#include <optional>
#include <span>
#include <string>

#include "analysis/base/ascii.h"
#include "analysis/model/kernel_name.h"

namespace lockstep::compare {
namespace {

constexpr size_t kMostReadOfRole = 4'096;

struct RoleWord {
  std::string_view word;
  LayerRole role;
};

// Operations in the names of fused kernels, from the particular to the general: a fused kernel with a norm in it is the
// norm of its layer, whatever is added to it.
constexpr std::array kFusedWords = std::to_array<RoleWord>({{"attention", LayerRole::kAttention},
                                                            {"log_softmax", LayerRole::kOther},
                                                            {"nll_loss", LayerRole::kOther},
                                                            {"softmax", LayerRole::kAttention},
                                                            {"layer_norm", LayerRole::kNorm},
                                                            {"rms_norm", LayerRole::kNorm},
                                                            {"group_norm", LayerRole::kNorm},
                                                            {"batch_norm", LayerRole::kNorm},
                                                            {"mean_pow", LayerRole::kNorm},
                                                            {"rsqrt", LayerRole::kNorm},
                                                            {"embedding", LayerRole::kEmbedding},
                                                            {"adam", LayerRole::kOptimizer},
                                                            {"foreach", LayerRole::kOptimizer},
                                                            {"_mm_", LayerRole::kFeedForward},
                                                            {"cos_sin", LayerRole::kAttention},
                                                            {"argmax", LayerRole::kSampling},
                                                            {"multinomial", LayerRole::kSampling}});

constexpr std::array kRangeWords = std::to_array<RoleWord>({{"optimizer", LayerRole::kOptimizer},
                                                            {"adam", LayerRole::kOptimizer},
                                                            {"sampl", LayerRole::kSampling},
                                                            {"logits", LayerRole::kSampling},
                                                            {"embed", LayerRole::kEmbedding},
                                                            {"norm", LayerRole::kNorm},
                                                            {"attn", LayerRole::kAttention},
                                                            {"attention", LayerRole::kAttention}});

std::optional<LayerRole> RoleByWord(std::string_view text, std::span<const RoleWord> words) {
  const std::string lowered = Lowered(text.substr(0, kMostReadOfRole));
  for (const RoleWord& entry : words) {
    if (lowered.find(entry.word) != std::string::npos) return entry.role;
  }
  return std::nullopt;
}

// Families that say the role by themselves.
std::optional<LayerRole> RoleByFamily(Family family) {
  switch (family) {
    case Family::kCommunication:
      return LayerRole::kCommunication;
    case Family::kGemm:
    case Family::kGemv:
    case Family::kConvolution:
    case Family::kMoe:
    case Family::kMoeRouting:
    case Family::kMoeExperts:
      return LayerRole::kFeedForward;
    case Family::kAttention:
    case Family::kAttentionPrefill:
    case Family::kAttentionDecode:
    case Family::kRotary:
    case Family::kKvCache:
      return LayerRole::kAttention;
    case Family::kNorm:
      return LayerRole::kNorm;
    case Family::kEmbedding:
      return LayerRole::kEmbedding;
    case Family::kSampling:
      return LayerRole::kSampling;
    case Family::kOptimizer:
      return LayerRole::kOptimizer;
    case Family::kCopy:
      return LayerRole::kCopy;
    default:
      return std::nullopt;
  }
}

LayerRole RoleWithoutHint(Family family) {
  switch (family) {
    case Family::kTriton:
    case Family::kElementwise:
    case Family::kActivation:
    case Family::kReduction:
    case Family::kQuantization:
      return LayerRole::kElementwise;
    default:
      return LayerRole::kOther;
  }
}

}  // namespace

std::string_view Name(LayerRole role) {
  static constexpr std::array kNames =
      std::to_array<std::string_view>({"other", "attention", "feed_forward", "norm", "elementwise", "communication",
                                       "sampling", "embedding", "optimizer", "copy"});
  const auto index = static_cast<size_t>(role);
  return index < kNames.size() ? kNames[index] : std::string_view();
}

LayerRole FamilyRole(const KernelClass& kind, std::string_view name, std::string_view range) {
  if (kind.category == Category::kCommunication) return LayerRole::kCommunication;
  if (const auto role = RoleByFamily(kind.family)) return *role;
  const std::string_view base = SplitKernelName(name.substr(0, kMostReadOfRole)).base;
  if (const auto role = RoleByWord(base, kFusedWords)) return *role;
  if (const auto role = RoleByWord(range, kRangeWords)) return *role;
  return RoleWithoutHint(kind.family);
}

}  // namespace lockstep::compare
