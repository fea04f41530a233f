#include <cmath>
#include <limits>
#include <string>

#include "analysis/compare/kernels/name_words.h"
#include "analysis/compare/kernels/pair_choice.h"
#include "analysis/compare/kernels/rungs.h"
#include "analysis/compare/kernels/step_order.h"

namespace lockstep::compare {
namespace {

constexpr double kNoGuess = std::numeric_limits<double>::infinity();

// Roles of many small kernels, of which a removed and an added one easily have the same range and the same place.
bool IsCommonRole(LayerRole role) {
  return role == LayerRole::kElementwise || role == LayerRole::kCopy || role == LayerRole::kOther;
}

// Whether one has all operations of the other and further ones: it is that one fused with something.
bool NamesMore(const KernelIdentity& more, const KernelIdentity& less) {
  return !less.words.empty() && more.words.size() > less.words.size() && SharedWords(more.words, less.words) == 1;
}

// Whether one may have taken the place of the other: as often, about as long, the same role, and no other operation.
bool MayReplace(const MatchState& state, size_t b, size_t a) {
  const KernelIdentity& before = state.before.identities[b];
  const KernelIdentity& after = state.after.identities[a];
  if (before.role == LayerRole::kOther) return false;
  if (before.tuner || after.tuner || before.role != after.role || before.layout != after.layout) return false;
  if (!LaunchesAgree(state.before.launches[b], state.after.launches[a])) return false;
  if (Doublings(state.before.time_ns[b], state.after.time_ns[a]) > kMostDoublingsOfTime) return false;
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
  const StepOrder order(state);
  const auto key = [](const MatchSide& side, size_t i) {
    const KernelIdentity& identity = side.identities[i];
    if (identity.range.empty() || identity.tuner) return std::string();
    return identity.range + '\n' + std::string(Name(identity.role));
  };
  constexpr double kOtherPlace = 1.5;  // positions
  const auto cost = [&state, &order](size_t b, size_t a) {
    const bool elsewhere = order.Distance(b, a) > kOtherPlace;
    return elsewhere || !MayReplace(state, b, a) ? kNoGuess : EvidenceCost(state, order, b, a);
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
  const StepOrder order(state);
  if (order.marks() < kFewestMarks) return;
  const auto key = [&state, &order](const MatchSide& side, size_t i) { return GapKey(state, order, side, i); };
  for (const Bucket& bucket : BucketsBy(state, key)) {
    const bool alone = bucket.before.size() == 1 && bucket.after.size() == 1;
    if (alone && MayReplace(state, bucket.before[0], bucket.after[0])) {
      state.AddPair(bucket.before[0], bucket.after[0], MatchKind::kSame, MatchedBy::kPosition, Certainty::kGuess);
    } else {
      state.Note(bucket, UnmatchedReason::kPlaceOfSeveral);
    }
  }
}

}  // namespace lockstep::compare
