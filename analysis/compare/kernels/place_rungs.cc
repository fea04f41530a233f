#include <cmath>
#include <limits>
#include <string>

#include "analysis/compare/kernels/name_words.h"
#include "analysis/compare/kernels/pair_choice.h"
#include "analysis/compare/kernels/part_names.h"
#include "analysis/compare/kernels/rungs.h"
#include "analysis/compare/kernels/surroundings.h"

namespace lockstep::compare {
namespace {

constexpr double kNoGuess = std::numeric_limits<double>::infinity();

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

// Whether one may have taken the place of the other: as often, about as long, the same role, and no other operation.
bool MayReplace(const MatchState& state, const Surroundings& around, size_t b, size_t a) {
  const KernelIdentity& before = state.before.identities[b];
  const KernelIdentity& after = state.after.identities[a];
  if (before.role == LayerRole::kOther) return false;
  if (before.tuner || after.tuner || before.role != after.role || before.layout != after.layout) return false;
  if (!LaunchesAgree(state.before.launches[b], state.after.launches[a])) return false;
  if (Doublings(state.before.time_ns[b], state.after.time_ns[a]) > kMostDoublingsOfTime) return false;
  if (!MayDoTheSame(state.before.kernels[b]->kind, state.after.kernels[a]->kind)) return false;
  if (around.ranges.Differ(b, a) || HasPartsNearby(around.wholes, b, a)) return false;
  if (NamesMore(before, after) || NamesMore(after, before)) return false;
  const bool says_other = !before.words.empty() && !after.words.empty() && SharedWords(before.words, after.words) == 0;
  return !says_other || !IsCommonRole(before.role);
}

std::string GapKey(const MatchState& state, const StepOrder& order, const MatchSide& side, size_t i) {
  const auto gap = &side == &state.before ? order.GapOfBefore(i) : order.GapOfAfter(i);
  return gap ? std::to_string(*gap) : std::string();
}

}  // namespace

void MatchByRange(MatchState& state) {
  const Surroundings around(state);
  const auto key = [](const MatchSide& side, size_t i) {
    const KernelIdentity& identity = side.identities[i];
    if (identity.range.empty() || identity.tuner) return std::string();
    return identity.range + '\n' + std::string(Name(identity.role));
  };
  constexpr double kOtherPlace = 1.5;  // positions
  const auto cost = [&state, &around](size_t b, size_t a) {
    const bool elsewhere = around.order.Distance(b, a) > kOtherPlace;
    return elsewhere || !MayReplace(state, around, b, a) ? kNoGuess : EvidenceCost(state, around.order, b, a);
  };
  for (const Bucket& bucket : BucketsBy(state, key)) {
    for (const auto& pair : PairsWithoutRival(bucket, cost)) {
      state.AddPair(pair.first, pair.second, MatchKind::kSame, MatchedBy::kRange, Certainty::kGuess);
    }
    const Bucket left = StillUnmatched(state, bucket);
    if (!left.before.empty() && !left.after.empty()) state.Note(left, UnmatchedReason::kSeveralAlike);
  }
}

void MatchByPosition(MatchState& state) {
  // Without a few marks every unmatched kernel is between the same two neighbours.
  constexpr size_t kFewestMarks = 3;
  const Surroundings around(state);
  const StepOrder& order = around.order;
  if (order.marks() < kFewestMarks) return;
  const auto key = [&state, &order](const MatchSide& side, size_t i) { return GapKey(state, order, side, i); };
  for (const Bucket& bucket : BucketsBy(state, key)) {
    const bool alone = bucket.before.size() == 1 && bucket.after.size() == 1;
    if (alone && MayReplace(state, around, bucket.before[0], bucket.after[0])) {
      state.AddPair(bucket.before[0], bucket.after[0], MatchKind::kSame, MatchedBy::kPosition, Certainty::kGuess);
    } else {
      state.Note(bucket, UnmatchedReason::kPlaceOfSeveral);
    }
  }
}

}  // namespace lockstep::compare
