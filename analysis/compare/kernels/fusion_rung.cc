#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "analysis/compare/kernels/pair_choice.h"
#include "analysis/compare/kernels/part_names.h"
#include "analysis/compare/kernels/replacement.h"
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

std::vector<const KernelIdentity*> IdentitiesOf(const MatchSide& side, const std::vector<size_t>& kernels) {
  std::vector<const KernelIdentity*> identities;
  for (const size_t kernel : kernels) identities.push_back(&side.identities[kernel]);
  return identities;
}

// Whether the whole names a kernel that is not among the parts, by words that the parts leave over: then it is another
// whole, or one of its parts is matched with something else already.
bool NamesAnotherPart(const FusionSides& sides, const std::vector<size_t>& parts, const KernelIdentity& whole,
                      const std::vector<std::string>& left) {
  const auto has_word_left = [&left](const std::string& word) {
    return std::find(left.begin(), left.end(), word) != left.end();
  };
  for (size_t i = 0; i < sides.parts.size(); ++i) {
    const std::vector<std::string>& words = sides.parts.identities[i].words;
    if (std::none_of(words.begin(), words.end(), has_word_left)) continue;
    if (std::find(parts.begin(), parts.end(), i) != parts.end()) continue;
    if (NamesPart(sides.parts.identities[i], whole)) return true;
  }
  return false;
}

// Most of what the whole names is in its parts, and what is left is no other kernel of their side.
bool PartsExplain(const FusionSides& sides, const std::vector<size_t>& parts, const KernelIdentity& whole) {
  constexpr double kMostOfTheName = 0.75;
  const std::vector<std::string> left = WordsLeft(whole, IdentitiesOf(sides.parts, parts));
  const auto explained = static_cast<double>(whole.named_words.size() - left.size());
  if (explained < kMostOfTheName * static_cast<double>(whole.named_words.size())) return false;
  return left.empty() || !NamesAnotherPart(sides, parts, whole, left);
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

bool HasNameOfAny(const MatchSide& side, const KernelIdentity& identity) {
  return std::any_of(side.identities.begin(), side.identities.end(),
                     [&identity](const KernelIdentity& other) { return other.stem_words == identity.stem_words; });
}

// Parts that the name of the whole cannot do without. A candidate whose words the others explain as well is no part if
// the other side has a kernel of its name; if it has none, nobody knows whether it is one, and there are no parts.
std::vector<size_t> NeededParts(const FusionSides& sides, size_t whole, const std::vector<size_t>& candidates) {
  const KernelIdentity& identity = sides.wholes.identities[whole];
  if (candidates.size() > 2 * kMostPartsOfFusion) return {};
  const size_t left = WordsLeft(identity, IdentitiesOf(sides.parts, candidates)).size();
  std::vector<size_t> needed;
  for (const size_t candidate : candidates) {
    std::vector<size_t> others = candidates;
    std::erase(others, candidate);
    if (WordsLeft(identity, IdentitiesOf(sides.parts, others)).size() > left) {
      needed.push_back(candidate);
    } else if (!HasNameOfAny(sides.wholes, sides.parts.identities[candidate])) {
      return {};
    }
  }
  return needed;
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
  return (identity.tuner || SayProduct(identity.words)) && !(has_product && products == 1) ? std::vector<size_t>()
                                                                                           : parts;
}

bool TimesAllow(const FusionSides& sides, const Fusion& fusion) {
  const double sum = SumOf(sides.parts.time_ns, fusion.parts);
  // A fused kernel saves most of the traffic of its parts at best.
  constexpr double kMostDoublingsOfFusion = 3;
  return Doublings(sum, sides.wholes.time_ns[fusion.whole]) <= kMostDoublingsOfFusion;
}

// Whether a kernel that is named otherwise may be a part, too: words of the whole are left over, or it is of the family
// of a part.
bool HasUnnamedCandidate(const FusionSides& sides, const Fusion& fusion, const std::vector<size_t>& candidates) {
  const KernelIdentity& whole = sides.wholes.identities[fusion.whole];
  const bool words_left = !WordsLeft(whole, IdentitiesOf(sides.parts, fusion.parts)).empty();
  return std::any_of(candidates.begin(), candidates.end(), [&](size_t candidate) {
    if (std::find(fusion.parts.begin(), fusion.parts.end(), candidate) != fusion.parts.end()) return false;
    if (!LaunchesAgree(sides.parts.launches[candidate], sides.wholes.launches[fusion.whole])) return false;
    if (HasNameOfAny(sides.wholes, sides.parts.identities[candidate])) return false;
    return words_left || std::any_of(fusion.parts.begin(), fusion.parts.end(), [&](size_t part) {
             return AreOfOneFamily(sides.parts, candidate, sides.parts, part);
           });
  });
}

// Fusions of the kernels of one gap; those that claim the same part are all left out.
std::vector<Fusion> FusionsIn(const FusionSides& sides, const std::vector<size_t>& parts,
                              const std::vector<size_t>& wholes) {
  std::vector<Fusion> found;
  std::map<size_t, int> claims;
  for (const size_t whole : wholes) {
    Fusion fusion{whole, NeededParts(sides, whole, PartsOf(sides, whole, parts))};
    if (fusion.parts.size() < 2 || fusion.parts.size() > kMostPartsOfFusion || !TimesAllow(sides, fusion)) continue;
    if (!HaveTwoNames(sides, fusion.parts)) continue;
    if (!PartsExplain(sides, fusion.parts, sides.wholes.identities[whole])) continue;
    if (HasUnnamedCandidate(sides, fusion, parts)) continue;
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
