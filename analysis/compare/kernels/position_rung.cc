#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "analysis/compare/kernels/pair_choice.h"
#include "analysis/compare/kernels/part_names.h"
#include "analysis/compare/kernels/replacement.h"
#include "analysis/compare/kernels/rungs.h"
#include "analysis/compare/kernels/surroundings.h"

namespace lockstep::compare {
namespace {

std::string GapKey(const StepOrder& order, const MatchState& state, const MatchSide& side, size_t i) {
  const auto gap = &side == &state.before ? order.GapOfBefore(i) : order.GapOfAfter(i);
  return gap ? std::to_string(*gap) : std::string();
}

void AddByPosition(MatchState& state, const Bucket& members, MatchKind kind) {
  state.Add(members, kind, MatchedBy::kPosition, Certainty::kGuess);
}

void SortByFirstPlace(const MatchSide& side, std::vector<size_t>& kernels) {
  std::stable_sort(kernels.begin(), kernels.end(),
                   [&side](size_t x, size_t y) { return side.places[x].front() < side.places[y].front(); });
}

// Several kernels that were all renamed, in their order, if no two of them can be taken for each other.
std::vector<std::pair<size_t, size_t>> RenamedInOrder(const MatchState& state, const Surroundings& around,
                                                      const Bucket& bucket) {
  if (bucket.before.size() != bucket.after.size()) return {};
  const auto cost = [&state, &around](size_t b, size_t a) {
    return DoesTheSame(state, around, b, a) ? EvidenceCost(state, around.order, b, a)
                                            : std::numeric_limits<double>::infinity();
  };
  auto pairs = PairsWithoutRival(bucket, cost);
  if (pairs.size() != bucket.before.size()) return {};
  Bucket in_order = bucket;
  SortByFirstPlace(state.before, in_order.before);
  SortByFirstPlace(state.after, in_order.after);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const std::pair<size_t, size_t> expected(in_order.before[i], in_order.after[i]);
    if (std::find(pairs.begin(), pairs.end(), expected) == pairs.end()) return {};
  }
  return pairs;
}

// Kernels of one side that are alone at the place of one kernel of the other side, whichever side is which.
struct PiecesAtPlace {
  const MatchSide& side;
  const std::vector<size_t>& pieces;
  const MatchSide& whole_side;
  size_t whole = 0;

  [[nodiscard]] const KernelIdentity& Piece(size_t piece) const { return side.identities[piece]; }
  [[nodiscard]] const KernelIdentity& Whole() const { return whole_side.identities[whole]; }
};

// Whether its name says a part of what the name of the whole says, or the other way round.
bool HasToDoWith(const PiecesAtPlace& place, size_t piece) {
  const KernelIdentity& identity = place.Piece(piece);
  const bool may_be = identity.role == place.Whole().role || identity.role == LayerRole::kOther ||
                      place.Whole().role == LayerRole::kOther;
  if (identity.tuner || identity.role == LayerRole::kCommunication || !may_be) return false;
  if (!LaunchesAgree(place.side.launches[piece], place.whole_side.launches[place.whole])) return false;
  if (NamesSome(identity, place.Whole())) return true;
  // Of two of its family one may as well have been added or removed.
  const auto of_family = std::count_if(place.pieces.begin(), place.pieces.end(), [&place](size_t other) {
    return AreOfOneFamily(place.side, other, place.whole_side, place.whole);
  });
  return of_family == 1 && AreOfOneFamily(place.side, piece, place.whole_side, place.whole);
}

// Two kernels of which the name of the whole needs only one are candidates for a part, not parts. A kernel that is
// named after the whole, with something added, is a part of it.
bool NameNeedsAll(const PiecesAtPlace& place) {
  std::vector<const KernelIdentity*> all;
  for (const size_t piece : place.pieces) all.push_back(&place.Piece(piece));
  const size_t left = WordsLeft(place.Whole(), all).size();
  return std::all_of(place.pieces.begin(), place.pieces.end(), [&](size_t piece) {
    const KernelIdentity& identity = place.Piece(piece);
    if (NamesMore(identity, place.Whole()) || !NamesSome(identity, place.Whole())) return true;
    std::vector<const KernelIdentity*> others = all;
    std::erase(others, &identity);
    return WordsLeft(place.Whole(), others).size() > left;
  });
}

// Whether a word that the pieces leave over is that of another kernel of their side, wherever that is.
bool NamesAnother(const PiecesAtPlace& place) {
  std::vector<const KernelIdentity*> pieces;
  for (const size_t piece : place.pieces) pieces.push_back(&place.Piece(piece));
  const std::vector<std::string> left = WordsLeft(place.Whole(), pieces);
  return std::any_of(place.side.identities.begin(), place.side.identities.end(), [&](const KernelIdentity& other) {
    if (std::find(pieces.begin(), pieces.end(), &other) != pieces.end()) return false;
    return std::any_of(left.begin(), left.end(), [&other](const std::string& word) {
      return std::binary_search(other.words.begin(), other.words.end(), word);
    });
  });
}

bool ArePieces(const PiecesAtPlace& place) {
  constexpr size_t kMostPieces = 4;
  if (place.pieces.size() < 2 || place.pieces.size() > kMostPieces || place.Whole().tuner) return false;
  const double sum = SumOf(place.side.time_ns, place.pieces);
  if (Doublings(sum, place.whole_side.time_ns[place.whole]) > kMostDoublingsOfTime) return false;
  const bool related = std::all_of(place.pieces.begin(), place.pieces.end(),
                                   [&place](size_t piece) { return HasToDoWith(place, piece); });
  return related && NameNeedsAll(place) && !NamesAnother(place);
}

bool AddPieces(MatchState& state, const Bucket& bucket) {
  if (bucket.after.size() == 1 && ArePieces({state.before, bucket.before, state.after, bucket.after.front()})) {
    AddByPosition(state, bucket, MatchKind::kFused);
    return true;
  }
  if (bucket.before.size() == 1 && ArePieces({state.after, bucket.after, state.before, bucket.before.front()})) {
    AddByPosition(state, bucket, MatchKind::kSplit);
    return true;
  }
  return false;
}

void MatchGap(MatchState& state, const Surroundings& around, const Bucket& bucket) {
  if (bucket.before.size() == 1 && bucket.after.size() == 1) {
    const size_t b = bucket.before.front();
    const size_t a = bucket.after.front();
    const bool partly = HaveLittleInCommon(state.before.identities[b], state.after.identities[a]);
    if (!partly && (MayReplace(state, around, b, a) || DoesTheSame(state, around, b, a))) {
      AddByPosition(state, bucket, MatchKind::kSame);
      return;
    }
  }
  if (AddPieces(state, bucket)) return;
  for (const auto& pair : RenamedInOrder(state, around, bucket)) {
    AddByPosition(state, {{pair.first}, {pair.second}}, MatchKind::kSame);
  }
  state.Note(StillUnmatched(state, bucket), UnmatchedReason::kPlaceOfSeveral);
}

}  // namespace

void MatchByPosition(MatchState& state) {
  // Without a few marks every unmatched kernel is between the same two neighbours.
  constexpr size_t kFewestMarks = 3;
  const Surroundings around(state);
  if (around.order.marks() < kFewestMarks) return;
  const auto key = [&state, &around](const MatchSide& side, size_t i) { return GapKey(around.order, state, side, i); };
  for (const Bucket& bucket : BucketsBy(state, key)) MatchGap(state, around, bucket);
}

}  // namespace lockstep::compare
