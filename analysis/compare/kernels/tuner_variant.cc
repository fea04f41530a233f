#include "analysis/compare/kernels/tuner_variant.h"

#include <algorithm>
#include <array>

#include "analysis/base/ascii.h"

namespace lockstep::compare {
namespace {

constexpr size_t kMostReadOfVariant = 4'096;

struct LayoutWord {
  std::string_view word;
  std::string_view layout;
};

// Tensile names the index order of its operands; row order is column order with the operands exchanged.
constexpr std::array kTensileLayouts =
    std::to_array<LayoutWord>({{"ailk_bljk", "nn"}, {"alik_bljk", "tn"}, {"ailk_bjlk", "nt"}, {"alik_bjlk", "tt"}});

constexpr std::array kPasses = std::to_array<LayoutWord>({{"fprop", "fprop"},
                                                          {"dgrad", "dgrad"},
                                                          {"wgrad", "wgrad"},
                                                          {"igemm_fwd", "fprop"},
                                                          {"igemm_bwd", "dgrad"},
                                                          {"igemm_wrw", "wgrad"},
                                                          {"conv_fwd", "fprop"},
                                                          {"conv_bwd_data", "dgrad"},
                                                          {"conv_bwd_weight", "wgrad"}});

constexpr std::array kProductWords = std::to_array<std::string_view>({"addmm", "gemm", "gemv", "matmul"});

// Words of templates of products that name no other operation.
constexpr std::array kWordsAroundProducts =
    std::to_array<std::string_view>({"batched", "cublas",     "dot",   "global", "grouped",   "internal", "nn",
                                     "nt",      "persistent", "sm100", "sm80",   "sm90",      "sn",       "specialized",
                                     "strided", "tma",        "tn",    "tt",     "universal", "val",      "warp"});

bool IsProductWord(const std::string& word) {
  if (word == "mm" || word == "linear" || word == "bmm") return true;
  return std::any_of(kProductWords.begin(), kProductWords.end(),
                     [&word](std::string_view part) { return word.find(part) != std::string::npos; });
}

bool IsTransposeLetter(char c) { return c == 't' || c == 'n'; }

// "tn", and of nvjet and _matmul_ogs "TNN": the third letter is the output's.
bool IsLayoutPart(std::string_view part) {
  return (part.size() == 2 || part.size() == 3) && std::all_of(part.begin(), part.end(), IsTransposeLetter);
}

std::string LayoutBetweenUnderscores(std::string_view lowered) {
  size_t start = 0;
  for (size_t at = 0; at <= lowered.size(); ++at) {
    const bool part_of_word = at < lowered.size() && (IsAsciiDigit(lowered[at]) || Lower(lowered[at]) != lowered[at] ||
                                                      (lowered[at] >= 'a' && lowered[at] <= 'z'));
    if (part_of_word) continue;
    const std::string_view part = lowered.substr(start, at - start);
    if (IsLayoutPart(part)) return std::string(part.substr(0, 2));
    start = at + 1;
  }
  return {};
}

}  // namespace

bool IsTunerFamily(Family family) {
  return family == Family::kGemm || family == Family::kConvolution || family == Family::kGemv;
}

std::string TunerLayout(std::string_view name) {
  const std::string lowered = Lowered(name.substr(0, kMostReadOfVariant));
  for (const LayoutWord& pass : kPasses) {
    if (lowered.find(pass.word) != std::string::npos) return std::string(pass.layout);
  }
  for (const LayoutWord& tensile : kTensileLayouts) {
    if (lowered.find(tensile.word) != std::string::npos) return std::string(tensile.layout);
  }
  return LayoutBetweenUnderscores(lowered);
}

bool IsNamedByTile(std::string_view name) {
  const std::string lowered = Lowered(name.substr(0, kMostReadOfVariant));
  if (lowered.find("nvjet") != std::string::npos) return true;
  for (size_t at = lowered.find('x'); at != std::string::npos; at = lowered.find('x', at + 1)) {
    const bool between =
        at > 0 && at + 1 < lowered.size() && IsAsciiDigit(lowered[at - 1]) && IsAsciiDigit(lowered[at + 1]);
    if (between && !(lowered[at - 1] == '0' && (at == 1 || !IsAsciiDigit(lowered[at - 2])))) return true;
  }
  return false;
}

bool SayOnlyProduct(const std::vector<std::string>& words) {
  return std::all_of(words.begin(), words.end(), [](const std::string& word) {
    return IsProductWord(word) || std::binary_search(kWordsAroundProducts.begin(), kWordsAroundProducts.end(), word);
  });
}

bool SayProduct(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), IsProductWord);
}

bool IsSplitKHelper(std::string_view name) {
  const std::string lowered = Lowered(name.substr(0, kMostReadOfVariant));
  return lowered.find("splitkreduce") != std::string::npos || lowered.find("reducesplitk") != std::string::npos;
}

}  // namespace lockstep::compare
