#include "analysis/compare/kernels/replacement.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "analysis/compare/kernels/name_words.h"
#include "analysis/compare/kernels/pair_choice.h"
#include "analysis/compare/kernels/part_names.h"

namespace lockstep::compare {
namespace {

constexpr double kHalf = 0.5;  // of all words of two names

// Roles of many small kernels, of which a removed and an added one easily have the same range and the same place.
bool IsCommonRole(LayerRole role) {
  return role == LayerRole::kElementwise || role == LayerRole::kCopy || role == LayerRole::kOther;
}

// Attention has steps around it that are no attention, though they belong to that part of the model.
bool IsStepOfAttention(Family family) { return family == Family::kRotary || family == Family::kKvCache; }

// Whether their names allow that they do the same work. Collectives of other operations do not, and an operation that a
// name does not say is not guessed.
bool MayDoTheSame(const KernelClass& before, const KernelClass& after) {
  if (before.category == Category::kCommunication && before.op == CollectiveOp::kUnknown) return false;
  const bool step = IsStepOfAttention(before.family) || IsStepOfAttention(after.family);
  return before.op == after.op && (!step || before.family == after.family);
}

bool HasPartsNearby(const NearWholes& wholes, size_t b, size_t a) {
  return wholes.MayBePartBefore(b) || wholes.MayBePartAfter(a) || wholes.MayHoldBefore(b) || wholes.MayHoldAfter(a);
}

// Families that are named after what their kernels do, and not after how they do it.
bool SaysWhatItDoes(Family family) {
  switch (family) {
    case Family::kOther:
    case Family::kCommunication:
    case Family::kElementwise:
    case Family::kReduction:
    case Family::kCopy:
    case Family::kTriton:
      return false;
    default:
      return true;
  }
}

// Whether a word of the kernel is not the candidate's, but that of another unmatched kernel of its side: it may be both
// of them in one.
bool NamesOfAnother(const MatchSide& side, size_t candidate, const KernelIdentity& kernel) {
  const std::vector<std::string>& known = side.identities[candidate].words;
  std::vector<std::string> extra;
  std::set_difference(kernel.words.begin(), kernel.words.end(), known.begin(), known.end(), std::back_inserter(extra));
  for (size_t i = 0; i < side.size(); ++i) {
    if (side.matched[i] || i == candidate) continue;
    const std::vector<std::string>& words = side.identities[i].words;
    const auto has = [&words](const std::string& word) { return std::binary_search(words.begin(), words.end(), word); };
    if (std::any_of(extra.begin(), extra.end(), has)) return true;
  }
  return false;
}

// As often, about as long, not known to do something else, and neither a product nor a part or a whole of kernels
// nearby.
bool MayBeTheSameCall(const MatchState& state, const Surroundings& around, size_t b, size_t a) {
  const KernelIdentity& before = state.before.identities[b];
  const KernelIdentity& after = state.after.identities[a];
  if (before.tuner || after.tuner || before.layout != after.layout) return false;
  if (!LaunchesAgree(state.before.launches[b], state.after.launches[a])) return false;
  if (Doublings(state.before.time_ns[b], state.after.time_ns[a]) > kMostDoublingsOfTime) return false;
  if (!MayDoTheSame(state.before.kernels[b]->kind, state.after.kernels[a]->kind)) return false;
  if (around.ranges.Differ(b, a) || HasPartsNearby(around.wholes, b, a)) return false;
  if (NamesMore(before, after) || NamesMore(after, before)) return false;
  return !NamesOfAnother(state.after, a, before) && !NamesOfAnother(state.before, b, after);
}

}  // namespace

bool MayReplace(const MatchState& state, const Surroundings& around, size_t b, size_t a) {
  const KernelIdentity& before = state.before.identities[b];
  const KernelIdentity& after = state.after.identities[a];
  if (before.role == LayerRole::kOther || before.role != after.role) return false;
  if (!MayBeTheSameCall(state, around, b, a)) return false;
  const bool says_other = !before.words.empty() && !after.words.empty() && SharedWords(before.words, after.words) == 0;
  return !says_other || !IsCommonRole(before.role);
}

bool AreOfOneFamily(const MatchSide& side, size_t i, const MatchSide& other_side, size_t j) {
  const Family family = side.kernels[i]->kind.family;
  if (family != other_side.kernels[j]->kind.family || !SaysWhatItDoes(family)) return false;
  return !side.identities[i].container && !other_side.identities[j].container;
}

bool DoesTheSame(const MatchState& state, const Surroundings& around, size_t b, size_t a) {
  const KernelIdentity& before = state.before.identities[b];
  const KernelIdentity& after = state.after.identities[a];
  if (!MayBeTheSameCall(state, around, b, a)) return false;
  if (AreOfOneFamily(state.before, b, state.after, a)) return true;
  const bool may_be_said = !before.words.empty() && !after.words.empty();
  return may_be_said && WordsInCommon(before.words, after.words) >= kHalf;
}

bool HaveLittleInCommon(const KernelIdentity& before, const KernelIdentity& after) {
  if (before.words.empty() || after.words.empty()) return false;
  const double common = WordsInCommon(before.words, after.words);
  return common > 0 && common < kHalf;
}

}  // namespace lockstep::compare
