#include "analysis/compare/kernels/match_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace lockstep::compare {
namespace {

constexpr size_t kMostCandidatesNamed = 3;

double FiniteAmount(double value) { return std::isfinite(value) && value > 0 ? value : 0; }

// NaN sorts as if it were the smallest, for a strict order of outside data.
double Sortable(double value) { return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value; }

bool SortsBefore(const KernelOfRun& x, const KernelOfRun& y) {
  const auto key = [](const KernelOfRun& k) {
    return std::tuple<const std::string&, const std::string&, const std::string&, double, double>(
        k.name, k.mangled, k.range, Sortable(k.launches_per_step), Sortable(k.time_per_step_ns));
  };
  const auto kx = key(x);
  const auto ky = key(y);
  if (kx != ky) return kx < ky;
  return std::lexicographical_compare(x.places.begin(), x.places.end(), y.places.begin(), y.places.end(),
                                      [](double p, double q) { return Sortable(p) < Sortable(q); });
}

std::vector<double> PlacesRead(const std::vector<double>& given) {
  std::vector<double> places;
  for (const double place : given) {
    if (std::isfinite(place)) places.push_back(std::clamp(place, 0.0, 1.0));
  }
  std::sort(places.begin(), places.end());
  if (places.size() > kMostPlacesRead) {
    places[kMostPlacesRead - 1] = places.back();
    places.resize(kMostPlacesRead);
  }
  return places;
}

MatchSide SideOf(const std::vector<KernelOfRun>& kernels) {
  MatchSide side;
  side.input_index.resize(kernels.size());
  std::iota(side.input_index.begin(), side.input_index.end(), size_t{0});
  std::stable_sort(side.input_index.begin(), side.input_index.end(),
                   [&kernels](size_t x, size_t y) { return SortsBefore(kernels[x], kernels[y]); });
  for (const size_t index : side.input_index) {
    const KernelOfRun& kernel = kernels[index];
    side.kernels.push_back(&kernel);
    side.identities.push_back(IdentityOf(kernel));
    side.launches.push_back(FiniteAmount(kernel.launches_per_step));
    side.time_ns.push_back(FiniteAmount(kernel.time_per_step_ns));
    side.places.push_back(PlacesRead(kernel.places));
  }
  side.matched.assign(kernels.size(), 0);
  return side;
}

std::vector<size_t> FirstFew(const std::vector<size_t>& indices) {
  return {indices.begin(),
          indices.begin() + static_cast<std::ptrdiff_t>(std::min(indices.size(), kMostCandidatesNamed))};
}

}  // namespace

void MatchState::Add(const Bucket& members, MatchKind kind, MatchedBy by, Certainty certainty) {
  for (const size_t b : members.before) before.matched[b] = 1;
  for (const size_t a : members.after) after.matched[a] = 1;
  KernelMatch match;
  match.before = members.before;
  match.after = members.after;
  match.kind = kind;
  match.by = by;
  match.certainty = certainty;
  matches.push_back(std::move(match));
}

void MatchState::AddPair(size_t b, size_t a, MatchKind kind, MatchedBy by, Certainty certainty) {
  Add({{b}, {a}}, kind, by, certainty);
}

void MatchState::Note(const Bucket& bucket, UnmatchedReason reason) {
  for (const size_t b : bucket.before) before_notes[b] = {reason, FirstFew(bucket.after)};
  for (const size_t a : bucket.after) after_notes[a] = {reason, FirstFew(bucket.before)};
}

MatchState StateOf(const std::vector<KernelOfRun>& before, const std::vector<KernelOfRun>& after) {
  return {.before = SideOf(before), .after = SideOf(after), .matches = {}, .before_notes = {}, .after_notes = {}};
}

Bucket StillUnmatched(const MatchState& state, const Bucket& bucket) {
  Bucket left;
  for (const size_t b : bucket.before) {
    if (!state.before.matched[b]) left.before.push_back(b);
  }
  for (const size_t a : bucket.after) {
    if (!state.after.matched[a]) left.after.push_back(a);
  }
  return left;
}

double Doublings(double x, double y) {
  constexpr double kMost = 64;
  if (x == y) return 0;
  if (x <= 0 || y <= 0) return kMost;
  return std::min(kMost, std::abs(std::log2(x) - std::log2(y)));
}

}  // namespace lockstep::compare
