#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "analysis/compare/kernels/name_words.h"
#include "analysis/compare/kernels/pair_choice.h"
#include "analysis/compare/kernels/replacement.h"
#include "analysis/compare/kernels/rungs.h"
#include "analysis/compare/kernels/surroundings.h"

namespace lockstep::compare {
namespace {

using KernelPair = std::pair<size_t, size_t>;
using SideKey = std::function<std::string_view(const MatchSide&, size_t)>;

struct NameRung {
  SideKey key;
  MatchedBy by = MatchedBy::kBase;
  Certainty certainty = Certainty::kLikely;
  bool same_place = false;     // only kernels that lie between the same neighbours, if that is known
  bool same_function = false;  // an equal key means the same function, so that what is left over is one group
};

NameRung Proof(SideKey key, MatchedBy by) {
  NameRung rung;
  rung.key = std::move(key);
  rung.by = by;
  rung.certainty = Certainty::kCertain;
  rung.same_function = true;
  return rung;
}

NameRung Base(SideKey key, bool same_place) {
  NameRung rung;
  rung.key = std::move(key);
  rung.same_place = same_place;
  return rung;
}

// TorchInductor numbers its kernels again in each compilation: an equal name may be another kernel.
bool EqualNameIsProof(const MatchSide& side, size_t i) { return !side.identities[i].inductor; }

MatchedBy RungOfPair(const MatchState& state, const NameRung& rung, size_t b, size_t a) {
  return state.before.kernels[b]->name == state.after.kernels[a]->name ? MatchedBy::kExact : rung.by;
}

// Kernels of a container are the same only if their template arguments speak of the same operation.
bool MayBeSame(const KernelIdentity& before, const KernelIdentity& after) {
  constexpr double kMostlyTheSame = 0.6;
  if (!before.container) return true;
  if (before.template_words.empty() || after.template_words.empty()) {
    return before.template_words == after.template_words && before.bare == after.bare;
  }
  return WordsInCommon(before.template_words, after.template_words) >= kMostlyTheSame;
}

// The same base name in another part of the step may as well be a removed kernel and an added one.
bool LieApart(const NameRung& rung, const StepOrder& order, size_t b, size_t a) {
  constexpr double kApart = 1.5;  // positions: a kernel may change places with a neighbour
  const double distance = order.Distance(b, a);
  if (rung.same_function || std::isnan(distance) || order.Meet(b, a)) return false;
  return rung.same_place || distance > kApart;
}

// A function that is called in every layer is another one than a function that is called once, whatever its name.
constexpr double kMostDoublingsOfCalls = 1.6;

// Whether an unmatched kernel of the side, near the other one, is of its family and launched as often as it.
bool HasRivalOfFamily(const MatchSide& side, const MatchSide& others, size_t i,
                      const std::function<bool(size_t)>& near) {
  for (size_t rival = 0; rival < side.size(); ++rival) {
    if (side.matched[rival] || !AreOfOneFamily(side, rival, others, i)) continue;
    if (LaunchesAgree(side.launches[rival], others.launches[i]) && near(rival)) return true;
  }
  return false;
}

// Whether either of two kernels has a rival on the other side that may be its counterpart: instead(b, a).
bool EitherHasRival(const MatchState& state, size_t b, size_t a, const std::function<bool(size_t, size_t)>& instead) {
  return HasRivalOfFamily(state.after, state.before, b, [&](size_t rival) { return instead(b, rival); }) ||
         HasRivalOfFamily(state.before, state.after, a, [&](size_t rival) { return instead(rival, a); });
}

// Whether the launches of two kernels differ, while those of a kernel of the same family with another name agree.
bool AgreesWithAnother(const MatchState& state, const StepOrder& order, size_t b, size_t a) {
  if (LaunchesAgree(state.before.launches[b], state.after.launches[a])) return false;
  return EitherHasRival(state, b, a, [&](size_t before, size_t after) { return order.Meet(before, after); });
}

bool HaveEqualLists(const MatchState& state, const KernelPair& pair) {
  return state.before.identities[pair.first].tokens == state.after.identities[pair.second].tokens;
}

double DoublingsOfALaunch(const MatchState& state, size_t b, size_t a) {
  return Doublings(state.before.time_ns[b] / state.before.launches[b],
                   state.after.time_ns[a] / state.after.launches[a]);
}

// Whether a launch of one takes so many times as long as one of the other that it is no version of it: far too many
// times, if their template lists differ, or many times, while a kernel of the same family with another name, launched
// as often, takes about as long. Then one of the two was removed, and the other one was added.
bool LastsTooLong(const MatchState& state, const StepOrder& order, size_t b, size_t a) {
  constexpr double kManyDoublings = 1.6;
  constexpr double kTooManyDoublings = 3;
  const double apart = DoublingsOfALaunch(state, b, a);
  if (!(apart > kManyDoublings)) return false;
  if (apart > kTooManyDoublings && !HaveEqualLists(state, {b, a})) return true;
  return EitherHasRival(state, b, a, [&](size_t before, size_t after) {
    return order.Meet(before, after) && DoublingsOfALaunch(state, before, after) < apart / 2;
  });
}

// Whether two kernels with equal keys may nevertheless be others than each other.
bool MayBeOthers(const MatchState& state, const NameRung& rung, const Surroundings& around, size_t b, size_t a) {
  if (rung.same_function) return false;
  if (!MayBeSame(state.before.identities[b], state.after.identities[a])) return true;
  if (LieApart(rung, around.order, b, a) || around.ranges.Differ(b, a)) return true;
  if (Doublings(state.before.launches[b], state.after.launches[a]) > kMostDoublingsOfCalls) return true;
  if (AgreesWithAnother(state, around.order, b, a) || LastsTooLong(state, around.order, b, a)) return true;
  return around.wholes.MayBePartBefore(b) || around.wholes.MayBePartAfter(a);
}

double NamePairCost(const MatchState& state, const NameRung& rung, const Surroundings& around, size_t b, size_t a) {
  constexpr double kOtherName = 0.2;  // more than kLeastMargin: if all else is equal, an equal name decides
  constexpr double kOtherWords = 0.5;
  // Less than what a place, a range or a number of launches counts: template arguments are what changes.
  constexpr double kOtherTokens = 0.3;
  const KernelIdentity& before = state.before.identities[b];
  const KernelIdentity& after = state.after.identities[a];
  if (MayBeOthers(state, rung, around, b, a)) return std::numeric_limits<double>::infinity();
  double cost = EvidenceCost(state, around.order, b, a);
  if (state.before.kernels[b]->name != state.after.kernels[a]->name) cost += kOtherName;
  cost += kOtherTokens * (1 - SharedTokens(before, after));
  return cost + kOtherWords * (1 - SharedWords(before.template_words, after.template_words));
}

void AddNamePair(MatchState& state, const NameRung& rung, size_t b, size_t a, Certainty certainty) {
  const MatchedBy by = RungOfPair(state, rung, b, a);
  state.AddPair(b, a, MatchKind::kSame, by, by == MatchedBy::kExact ? Certainty::kCertain : certainty);
}

// Whether two pairs have changed the order of their kernels. Then it is not known which of them is which, unless their
// template lists say it.
bool Cross(const MatchState& state, const KernelPair& x, const KernelPair& y) {
  const auto& before = state.before;
  const auto& after = state.after;
  if (before.places[x.first].empty() || before.places[y.first].empty()) return false;
  if (after.places[x.second].empty() || after.places[y.second].empty()) return false;
  const bool x_first_before = before.places[x.first].front() < before.places[y.first].front();
  const bool x_first_after = after.places[x.second].front() < after.places[y.second].front();
  return x_first_before != x_first_after;
}

std::vector<KernelPair> WithoutCrossings(const MatchState& state, const std::vector<KernelPair>& pairs) {
  std::vector<KernelPair> kept;
  for (const KernelPair& pair : pairs) {
    const bool crosses = std::any_of(pairs.begin(), pairs.end(), [&state, &pair](const KernelPair& other) {
      return Cross(state, pair, other) && !(HaveEqualLists(state, pair) && HaveEqualLists(state, other));
    });
    if (!crosses) kept.push_back(pair);
  }
  return kept;
}

void PairUp(MatchState& state, const NameRung& rung, const Bucket& bucket, const Surroundings& around,
            bool any_launches) {
  const auto cost = [&](size_t b, size_t a) {
    const bool far = !LaunchesAgree(state.before.launches[b], state.after.launches[a]);
    if (far && !any_launches) return std::numeric_limits<double>::infinity();
    return NamePairCost(state, rung, around, b, a);
  };
  std::vector<KernelPair> pairs = PairsWithoutRival(bucket, cost);
  if (!rung.same_function) pairs = WithoutCrossings(state, pairs);
  for (const KernelPair& pair : pairs) AddNamePair(state, rung, pair.first, pair.second, rung.certainty);
}

bool AllMayBeSame(const MatchState& state, const Bucket& bucket) {
  for (const size_t b : bucket.before) {
    for (const size_t a : bucket.after) {
      if (state.before.identities[b].stem_words != state.after.identities[a].stem_words) return false;
    }
  }
  return true;
}

bool AnyIsPart(const NearWholes& wholes, const Bucket& bucket) {
  return std::any_of(bucket.before.begin(), bucket.before.end(),
                     [&wholes](size_t b) { return wholes.MayBePartBefore(b); }) ||
         std::any_of(bucket.after.begin(), bucket.after.end(),
                     [&wholes](size_t a) { return wholes.MayBePartAfter(a); });
}

// Variants of one kernel whose sums are to be compared, as nobody knows which of them is which.
void GroupUp(MatchState& state, const NameRung& rung, const Bucket& bucket, const Surroundings& around) {
  const Bucket left = StillUnmatched(state, bucket);
  if (left.before.empty() || left.after.empty()) return;
  if (!rung.same_function) {
    constexpr double kElsewhere = 1.5;  // positions
    const bool agree =
        LaunchesAgree(SumOf(state.before.launches, left.before), SumOf(state.after.launches, left.after));
    if (!agree || TooManyPairs(left) || AnyIsPart(around.wholes, left) || around.order.Distance(left) > kElsewhere ||
        !AllMayBeSame(state, left))
      return;
  }
  const bool pair = left.before.size() == 1 && left.after.size() == 1;
  state.Add(left, pair ? MatchKind::kSame : MatchKind::kGroup, rung.by,
            rung.same_function ? rung.certainty : Certainty::kGuess);
}

bool IsSimple(const Bucket& bucket) { return bucket.before.size() == 1 && bucket.after.size() == 1; }

// Buckets with one kernel of each side.
void RunSimpleBuckets(MatchState& state, const NameRung& rung, const std::vector<Bucket>& buckets) {
  if (std::none_of(buckets.begin(), buckets.end(), IsSimple)) return;
  const Surroundings around(state);
  for (const Bucket& bucket : buckets) {
    if (!IsSimple(bucket)) continue;
    const size_t b = bucket.before[0];
    const size_t a = bucket.after[0];
    if (!MayBeOthers(state, rung, around, b, a)) AddNamePair(state, rung, b, a, rung.certainty);
  }
}

void RunNameRung(MatchState& state, const NameRung& rung) {
  const std::vector<Bucket> buckets = BucketsBy(state, rung.key);
  RunSimpleBuckets(state, rung, buckets);
  if (std::all_of(buckets.begin(), buckets.end(), IsSimple)) return;
  const Surroundings around(state);
  for (const Bucket& bucket : buckets) {
    if (IsSimple(bucket)) continue;
    PairUp(state, rung, bucket, around, false);
    GroupUp(state, rung, bucket, around);
    PairUp(state, rung, StillUnmatched(state, bucket), around, true);
    const Bucket left = StillUnmatched(state, bucket);
    if (left.before.empty() || left.after.empty()) continue;
    state.Note(left, TooManyPairs(left) ? UnmatchedReason::kTooManyCandidates : UnmatchedReason::kSeveralAlike);
  }
}

}  // namespace

void MatchByExactName(MatchState& state) {
  const auto name = [](const MatchSide& side, size_t i) {
    return EqualNameIsProof(side, i) ? std::string_view(side.kernels[i]->name) : std::string_view();
  };
  const auto mangled = [](const MatchSide& side, size_t i) {
    const KernelOfRun& kernel = *side.kernels[i];
    return std::string_view(kernel.mangled.empty() && kernel.name.starts_with("_Z") ? kernel.name : kernel.mangled);
  };
  RunNameRung(state, Proof(name, MatchedBy::kExact));
  RunNameRung(state, Proof(mangled, MatchedBy::kExact));
}

void MatchByDemangledName(MatchState& state) {
  const auto spelling = [](const MatchSide& side, size_t i) {
    return EqualNameIsProof(side, i) ? std::string_view(side.identities[i].spelling) : std::string_view();
  };
  RunNameRung(state, Proof(spelling, MatchedBy::kDemangled));
}

void MatchByBaseName(MatchState& state, bool same_place) {
  const auto bare = [](const MatchSide& side, size_t i) {
    const KernelIdentity& identity = side.identities[i];
    return EqualNameIsProof(side, i) && !identity.container ? std::string_view(identity.bare) : std::string_view();
  };
  const auto inductor = [](const MatchSide& side, size_t i) {
    return EqualNameIsProof(side, i) ? std::string_view() : std::string_view(side.identities[i].stem);
  };
  const auto stem_words = [](const MatchSide& side, size_t i) {
    const KernelIdentity& identity = side.identities[i];
    return identity.variant ? std::string_view() : std::string_view(identity.stem_words);
  };
  const auto plain = [](const MatchSide& side, size_t i) {
    const KernelIdentity& identity = side.identities[i];
    return identity.variant ? std::string_view() : std::string_view(identity.plain);
  };
  // Names that only one kernel of each side has come first: they are the marks that distinguish the others.
  const NameRung unique = Base(plain, same_place);
  RunSimpleBuckets(state, unique, BucketsBy(state, unique.key));
  RunNameRung(state, Base(bare, same_place));
  RunNameRung(state, Base(inductor, same_place));
  RunNameRung(state, Base(stem_words, same_place));
  RunNameRung(state, unique);
}

}  // namespace lockstep::compare
