#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "analysis/compare/kernels/pair_choice.h"
#include "analysis/compare/kernels/rungs.h"
#include "analysis/compare/kernels/step_order.h"
#include "analysis/compare/kernels/tuner_variant.h"

namespace lockstep::compare {
namespace {

constexpr size_t kMostPartsOfFusion = 8;

// Parts of one side and a whole of the other one, whichever side is which.
struct FusionSides {
  const MatchSide& parts;
  const MatchSide& wholes;
};

bool SquashedHas(const KernelIdentity& whole, std::string_view word) {
  return whole.squashed.find(word) != std::string::npos;
}

// A matrix product is named by its variant, so the whole only has to say that it is one, too.
bool SaysProduct(const KernelIdentity& whole) { return whole.tuner || SayProduct(whole.words); }

// Most of the part's operations are in the name of the whole. Short words must be words of it: "neg" is in "clonegelu".
bool NamesPart(const KernelIdentity& part, const KernelIdentity& whole) {
  constexpr double kMostOfTheWords = 0.75;
  constexpr size_t kShortWord = 4;
  if (part.tuner) return SaysProduct(whole);
  size_t named = 0;
  for (const std::string& word : part.words) {
    const bool is_word = std::binary_search(whole.words.begin(), whole.words.end(), word);
    if (is_word || (word.size() > kShortWord && SquashedHas(whole, word))) ++named;
  }
  return named > 0 && static_cast<double>(named) >= kMostOfTheWords * static_cast<double>(part.words.size());
}

// Most of what the whole names is in its parts; what is left may be a part that is not among them.
bool PartsExplain(const FusionSides& sides, const std::vector<size_t>& parts, const KernelIdentity& whole) {
  constexpr double kMostOfTheName = 0.75;
  size_t explained = 0;
  for (const std::string& word : whole.words) {
    const bool known = std::any_of(parts.begin(), parts.end(), [&sides, &word](size_t part) {
      const KernelIdentity& identity = sides.parts.identities[part];
      return identity.squashed.find(word) != std::string::npos || (identity.tuner && SayOnlyProduct({word}));
    });
    if (known) ++explained;
  }
  return static_cast<double>(explained) >= kMostOfTheName * static_cast<double>(whole.words.size());
}

struct Fusion {
  size_t whole = 0;
  std::vector<size_t> parts;
};

// Kernels of one base name are variants of each other, not parts.
bool HasNameOf(const FusionSides& sides, size_t part, size_t whole) {
  const KernelIdentity& of_part = sides.parts.identities[part];
  return !of_part.container && of_part.plain == sides.wholes.identities[whole].plain;
}

bool HaveTwoNames(const FusionSides& sides, const std::vector<size_t>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&sides, &parts](size_t part) {
    return sides.parts.identities[part].stem_words != sides.parts.identities[parts.front()].stem_words;
  });
}

// Launches of all unmatched variants of a layout.
double LaunchesOfLayout(const MatchSide& side, const std::string& layout) {
  double sum = 0;
  for (size_t i = 0; i < side.size(); ++i) {
    const KernelIdentity& identity = side.identities[i];
    if (identity.tuner && !side.matched[i] && identity.layout == layout) sum += side.launches[i];
  }
  return sum;
}

// Whether a product is missing among the others of its layout. Only then it can have become a part of another kernel.
bool IsMissingProduct(const FusionSides& sides, size_t part) {
  const std::string& layout = sides.parts.identities[part].layout;
  const double left = LaunchesOfLayout(sides.parts, layout) - sides.parts.launches[part];
  const double others = LaunchesOfLayout(sides.wholes, layout);
  return (left <= 0 && others <= 0) || LaunchesAgree(left, others);
}

std::vector<size_t> PartsOf(const FusionSides& sides, size_t whole, const std::vector<size_t>& candidates) {
  const KernelIdentity& identity = sides.wholes.identities[whole];
  std::vector<size_t> parts;
  size_t products = 0;
  for (const size_t part : candidates) {
    const bool product = sides.parts.identities[part].tuner;
    if (product) ++products;
    if (!LaunchesAgree(sides.parts.launches[part], sides.wholes.launches[whole])) continue;
    if (!NamesPart(sides.parts.identities[part], identity) || HasNameOf(sides, part, whole)) continue;
    if (product && !IsMissingProduct(sides, part)) return {};
    parts.push_back(part);
  }
  // It is not known which of several products, or of one of another place, is the part.
  const bool has_product =
      std::any_of(parts.begin(), parts.end(), [&sides](size_t part) { return sides.parts.identities[part].tuner; });
  return SaysProduct(identity) && !(has_product && products == 1) ? std::vector<size_t>() : parts;
}

bool TimesAllow(const FusionSides& sides, const Fusion& fusion) {
  const double sum = SumOf(sides.parts.time_ns, fusion.parts);
  // A fused kernel saves most of the traffic of its parts at best.
  constexpr double kMostDoublingsOfFusion = 3;
  return Doublings(sum, sides.wholes.time_ns[fusion.whole]) <= kMostDoublingsOfFusion;
}

// Fusions of the kernels of one gap; those that claim the same part are all left out.
std::vector<Fusion> FusionsIn(const FusionSides& sides, const std::vector<size_t>& parts,
                              const std::vector<size_t>& wholes) {
  std::vector<Fusion> found;
  std::map<size_t, int> claims;
  for (const size_t whole : wholes) {
    Fusion fusion{whole, PartsOf(sides, whole, parts)};
    if (fusion.parts.size() < 2 || fusion.parts.size() > kMostPartsOfFusion || !TimesAllow(sides, fusion)) continue;
    if (!HaveTwoNames(sides, fusion.parts)) continue;
    if (!PartsExplain(sides, fusion.parts, sides.wholes.identities[whole])) continue;
    for (const size_t part : fusion.parts) ++claims[part];
    found.push_back(std::move(fusion));
  }
  std::erase_if(found, [&claims](const Fusion& fusion) {
    return std::any_of(fusion.parts.begin(), fusion.parts.end(), [&claims](size_t part) { return claims[part] > 1; });
  });
  return found;
}

// Where a kernel is: between which matched neighbours, or in which range when places are not known.
std::string PlaceKey(std::optional<size_t> gap, const KernelIdentity& identity) {
  if (gap) return "g" + std::to_string(*gap);
  return identity.range.empty() ? std::string() : "r" + identity.range;
}

std::vector<Bucket> BucketsByPlace(const MatchState& state, const StepOrder& order) {
  return BucketsBy(state, [&state, &order](const MatchSide& side, size_t i) {
    return PlaceKey(&side == &state.before ? order.GapOfBefore(i) : order.GapOfAfter(i), side.identities[i]);
  });
}

}  // namespace

void MatchFusedAndSplit(MatchState& state) {
  const StepOrder order(state);
  for (const Bucket& bucket : BucketsByPlace(state, order)) {
    if (TooManyPairs(bucket)) continue;
    for (const Fusion& fusion : FusionsIn({state.before, state.after}, bucket.before, bucket.after)) {
      state.Add({fusion.parts, {fusion.whole}}, MatchKind::kFused, MatchedBy::kWords, Certainty::kGuess);
    }
    const Bucket left = StillUnmatched(state, bucket);
    for (const Fusion& fusion : FusionsIn({state.after, state.before}, left.after, left.before)) {
      state.Add({{fusion.whole}, fusion.parts}, MatchKind::kSplit, MatchedBy::kWords, Certainty::kGuess);
    }
  }
}

}  // namespace lockstep::compare
