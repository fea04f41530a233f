#include "analysis/compare/kernels/step_order.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace lockstep::compare {
namespace {

constexpr double kPositionUnknown = std::numeric_limits<double>::quiet_NaN();

using PlacePair = std::pair<double, double>;

// The longest subsequence that rises on both sides.
std::vector<PlacePair> RisingMarks(std::vector<PlacePair> pairs) {
  std::sort(pairs.begin(), pairs.end(), [](const PlacePair& x, const PlacePair& y) {
    return x.first != y.first ? x.first < y.first : x.second > y.second;
  });
  constexpr size_t kNoPair = std::numeric_limits<size_t>::max();
  std::vector<size_t> ends;  // of the best subsequence of each length, the pair that it ends with
  std::vector<size_t> previous(pairs.size(), kNoPair);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto at = std::lower_bound(ends.begin(), ends.end(), pairs[i].second,
                                     [&pairs](size_t end, double place) { return pairs[end].second < place; });
    if (at != ends.begin()) previous[i] = *(at - 1);
    if (at == ends.end()) {
      ends.push_back(i);
    } else {
      *at = i;
    }
  }
  std::vector<PlacePair> marks;
  for (size_t i = ends.empty() ? kNoPair : ends.back(); i != kNoPair; i = previous[i]) marks.push_back(pairs[i]);
  std::reverse(marks.begin(), marks.end());
  return marks;
}

bool IsOneToOne(const KernelMatch& match) { return match.before.size() == 1 && match.after.size() == 1; }

// The launches of the pairs that `use` lets through.
template <typename Use>
std::vector<PlacePair> MarksOf(const MatchState& state, const Use& use) {
  // Many kernels give enough marks with their first launches.
  constexpr size_t kMostMarks = 8'192;
  const size_t of_each = std::max<size_t>(2, kMostMarks / std::max<size_t>(1, state.matches.size()));
  std::vector<PlacePair> pairs;
  for (const KernelMatch& match : state.matches) {
    if (!IsOneToOne(match) || !use(match)) continue;
    const std::vector<double>& before = state.before.places[match.before[0]];
    const std::vector<double>& after = state.after.places[match.after[0]];
    if (before.size() != after.size()) continue;
    for (size_t i = 0; i < std::min(before.size(), of_each); ++i) pairs.emplace_back(before[i], after[i]);
  }
  return RisingMarks(std::move(pairs));
}

double PositionAmong(const std::vector<double>& marks, double place) {
  const auto next = std::upper_bound(marks.begin(), marks.end(), place);
  const double low = next == marks.begin() ? 0 : *(next - 1);
  const double high = next == marks.end() ? 1 : *next;
  constexpr double kBelowOne = 0.999999;  // the end of the step is still in the last gap
  const double way = high > low ? std::clamp((place - low) / (high - low), 0.0, kBelowOne) : 0;
  return static_cast<double>(next - marks.begin()) + way;
}

double Larger(double x, double y) { return x > y ? x : y; }

// One by one where there are as many, else of the first and of the last one.
double LargestDifference(const std::vector<double>& before, const std::vector<double>& after) {
  if (before.empty() || after.empty()) return kPositionUnknown;
  double distance = Larger(std::abs(before.front() - after.front()), std::abs(before.back() - after.back()));
  if (before.size() != after.size()) return distance;
  for (size_t i = 0; i < before.size(); ++i) distance = Larger(distance, std::abs(before[i] - after[i]));
  return distance;
}

// Between the same two marks, or both next to one: launches jitter around it.
bool AreAtSamePlace(double before, double after) {
  constexpr double kJitter = 0.25;  // of the way from one mark to the next
  return std::floor(before) == std::floor(after) || std::abs(before - after) <= kJitter;
}

bool AreNear(double before, double after) {
  constexpr double kNextPlace = 1.5;
  return AreAtSamePlace(before, after) || std::abs(before - after) <= kNextPlace;
}

bool IsCutOff(const MatchSide& side, size_t i) {
  return side.places[i].size() == kMostPlacesRead && side.launches[i] > static_cast<double>(kMostPlacesRead);
}

// Whether all launches of another kernel are among those of which the places of this one are not read.
bool BeginsWhereCutOff(const MatchSide& side, size_t i, const std::vector<double>& positions,
                       const std::vector<double>& others) {
  return IsCutOff(side, i) && !others.empty() && others.front() >= positions[kMostPlacesRead - 2] &&
         others.front() <= positions.back();
}

// Whether each launch, up to where it is cut off, has its place; quantiles are fewer.
bool AllPlacesKnown(const MatchSide& side, const std::vector<size_t>& members) {
  constexpr double kNearlyAll = 0.95;
  return std::all_of(members.begin(), members.end(), [&side](size_t i) {
    const auto places = static_cast<double>(side.places[i].size());
    return places > 0 && (IsCutOff(side, i) || places >= kNearlyAll * side.launches[i]);
  });
}

size_t NumberUpTo(const std::vector<double>& rising, double horizon) {
  return static_cast<size_t>(std::upper_bound(rising.begin(), rising.end(), horizon) - rising.begin());
}

}  // namespace

const std::vector<double>& StepOrder::Positions::Of(size_t i) const {
  std::vector<double>& positions = known[i];
  if (positions.empty()) {
    for (const double place : side->places[i]) positions.push_back(PositionAmong(marks, place));
  }
  return positions;
}

// All positions of several kernels, rising; nothing when those of one are not known.
std::vector<double> StepOrder::Positions::Merged(const std::vector<size_t>& members) const {
  std::vector<double> merged;
  for (const size_t member : members) {
    const std::vector<double>& positions = Of(member);
    if (positions.empty()) return {};
    merged.insert(merged.end(), positions.begin(), positions.end());
  }
  std::sort(merged.begin(), merged.end());
  return merged;
}

// The position up to which the places of all members are read.
double StepOrder::Positions::Horizon(const std::vector<size_t>& members) const {
  double horizon = std::numeric_limits<double>::infinity();
  for (const size_t member : members) {
    if (IsCutOff(*side, member)) horizon = std::min(horizon, Of(member)[kMostPlacesRead - 2]);
  }
  return horizon;
}

std::optional<size_t> StepOrder::Positions::Gap(size_t i) const {
  if (side->places[i].empty()) return std::nullopt;
  return static_cast<size_t>(PositionAmong(marks, side->places[i].front()));
}

StepOrder::StepOrder(const MatchState& state) {
  before_.side = &state.before;
  after_.side = &state.after;
  const auto tuner = [&state](const KernelMatch& match) {
    return IsOneToOne(match) && state.before.identities[match.before[0]].tuner;
  };
  Place(MarksOf(state, [&tuner](const KernelMatch& match) { return !tuner(match); }));
  if (std::none_of(state.matches.begin(), state.matches.end(), tuner)) return;
  // A variant with the same name may be used for other products: it is a mark only where the others agree with it.
  constexpr double kNearlyAll = 0.97;
  Place(MarksOf(state, [this, &tuner](const KernelMatch& match) {
    return !tuner(match) || ShareAtSamePlaces({match.before, match.after}) >= kNearlyAll;
  }));
}

void StepOrder::Place(const std::vector<std::pair<double, double>>& marks) {
  for (Positions* side : {&before_, &after_}) {
    side->marks.clear();
    side->known.assign(side->side->size(), {});
  }
  for (const PlacePair& mark : marks) {
    before_.marks.push_back(mark.first);
    after_.marks.push_back(mark.second);
  }
}

double StepOrder::Distance(size_t b, size_t a) const { return LargestDifference(before_.Of(b), after_.Of(a)); }

double StepOrder::Distance(const Bucket& bucket) const {
  return LargestDifference(before_.Merged(bucket.before), after_.Merged(bucket.after));
}

double StepOrder::ShareAtSamePlaces(const Bucket& bucket) const { return ShareThatMeets(bucket, AreAtSamePlace); }

bool StepOrder::AllNearSamePlaces(const Bucket& bucket) const { return !(ShareThatMeets(bucket, AreNear) < 1); }

double StepOrder::ShareThatMeets(const Bucket& bucket, bool (*meet)(double, double)) const {
  if (!AllPlacesKnown(*before_.side, bucket.before) || !AllPlacesKnown(*after_.side, bucket.after)) {
    return kPositionUnknown;
  }
  const double horizon = std::min(before_.Horizon(bucket.before), after_.Horizon(bucket.after));
  const std::vector<double> before = before_.Merged(bucket.before);
  const std::vector<double> after = after_.Merged(bucket.after);
  size_t same = 0;
  size_t i = 0;
  size_t j = 0;
  while (i < before.size() && j < after.size() && before[i] <= horizon && after[j] <= horizon) {
    const bool met = meet(before[i], after[j]);
    if (met) ++same;
    const bool before_is_first = before[i] < after[j];
    if (met || before_is_first) ++i;
    if (met || !before_is_first) ++j;
  }
  const size_t fewer = std::min(NumberUpTo(before, horizon), NumberUpTo(after, horizon));
  return fewer == 0 ? kPositionUnknown : static_cast<double>(same) / static_cast<double>(fewer);
}

bool StepOrder::Meet(size_t b, size_t a) const {
  const std::vector<double>& before = before_.Of(b);
  const std::vector<double>& after = after_.Of(a);
  for (size_t i = 0, j = 0; i < before.size() && j < after.size();) {
    if (AreAtSamePlace(before[i], after[j])) return true;
    before[i] < after[j] ? ++i : ++j;
  }
  return BeginsWhereCutOff(*before_.side, b, before, after) || BeginsWhereCutOff(*after_.side, a, after, before);
}

}  // namespace lockstep::compare
