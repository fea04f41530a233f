#include <limits>
#include <string>

#include "analysis/compare/kernels/pair_choice.h"
#include "analysis/compare/kernels/replacement.h"
#include "analysis/compare/kernels/rungs.h"
#include "analysis/compare/kernels/surroundings.h"

namespace lockstep::compare {

void MatchByRange(MatchState& state) {
  const Surroundings around(state);
  const auto key = [](const MatchSide& side, size_t i) {
    const KernelIdentity& identity = side.identities[i];
    if (identity.range.empty() || identity.tuner) return std::string();
    return identity.range + '\n' + std::string(Name(identity.role));
  };
  constexpr double kOtherPlace = 1.5;  // positions
  constexpr double kNoGuess = std::numeric_limits<double>::infinity();
  const auto may_be = [&state, &around](size_t b, size_t a) {
    const bool elsewhere = around.order.Distance(b, a) > kOtherPlace;
    const bool known = state.before.identities[b].role != LayerRole::kOther;
    const bool partly = HaveLittleInCommon(state.before.identities[b], state.after.identities[a]);
    return known && !elsewhere && !partly && DoesTheSame(state, around, b, a);
  };
  // A range is often around many kernels, so that any other one of the family is a rival, wherever it is.
  const auto cost = [&state, &may_be](size_t b, size_t a) {
    return may_be(b, a) || AreOfOneFamily(state.before, b, state.after, a) ? 0.0 : kNoGuess;
  };
  for (const Bucket& bucket : BucketsBy(state, key)) {
    for (const auto& pair : PairsWithoutRival(bucket, cost)) {
      if (!may_be(pair.first, pair.second)) continue;
      state.AddPair(pair.first, pair.second, MatchKind::kSame, MatchedBy::kRange, Certainty::kGuess);
    }
    const Bucket left = StillUnmatched(state, bucket);
    if (!left.before.empty() && !left.after.empty()) state.Note(left, UnmatchedReason::kSeveralAlike);
  }
}

}  // namespace lockstep::compare
