#include "analysis/metrics/stragglers/stalls.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "analysis/metrics/stragglers/recurrence.h"
#include "analysis/stats/order_statistic.h"
#include "analysis/stats/robust_deviation.h"

namespace lockstep {
namespace {

constexpr double kMostOfLateness = 0.5;
// Robust deviations beyond what is usual: of two units or more, and of a single event, which alone must be beyond
// doubt.
constexpr double kStall = 6;
constexpr double kOneEvent = 8;

// Units in which the other one of a pair is late all have one value, so that what lies close to it does not show how
// much the others scatter.
LowLevel UsualLevelOf(const Candidate& candidate) {
  LowLevel usual = LowLevelOf(candidate.series);
  if (candidate.least_noise_ns > 0) usual.deviation = candidate.least_noise_ns;
  return usual;
}

// Places in the series of the units that are far beyond what is usual.
std::vector<size_t> FarUnits(const Candidate& candidate, double usual, double beyond_ns) {
  const std::vector<double>& series = candidate.series;
  const double far = usual + beyond_ns + candidate.floor_ns;
  std::vector<size_t> places;
  for (size_t i = 0; i < series.size(); ++i) {
    if (series[i] > far) places.push_back(i);
  }
  return places;
}

std::vector<size_t> UnitsOfStalls(const Candidate& candidate) {
  const LowLevel usual = UsualLevelOf(candidate);
  return FarUnits(candidate, usual.level, kStall * usual.deviation);
}

double LateIn(const Candidate& candidate, const std::vector<size_t>& units) {
  double sum = 0;
  for (const size_t unit : units) sum += candidate.series[unit];
  return sum;
}

// Where it is early does not make up for it.
double LateInAll(const Candidate& candidate) {
  double sum = 0;
  for (const double late : candidate.series) sum += std::max(0.0, late);
  return sum;
}

}  // namespace

size_t CountFarUnits(const Candidate& candidate) { return UnitsOfStalls(candidate).size(); }

bool Stalls(const Candidate& candidate) {
  const std::vector<size_t> far = UnitsOfStalls(candidate);
  return far.size() >= 2 && LateIn(candidate, far) >= kMostOfLateness * LateInAll(candidate);
}

std::optional<double> UsualStall(const Candidate& candidate) {
  if (!Stalls(candidate)) return std::nullopt;
  const double usual = UsualLevelOf(candidate).level;
  std::vector<double> longer;
  for (const size_t unit : UnitsOfStalls(candidate)) longer.push_back(candidate.series[unit] - usual);
  return Median(std::move(longer));
}

bool StandsOut(const Candidate& candidate) {
  if (Stalls(candidate)) return true;
  const std::optional<Burst> slow = FindBurst(candidate.series, candidate.floor_ns);
  if (!slow) return false;
  std::vector<size_t> stretch(slow->last - slow->first);
  std::iota(stretch.begin(), stretch.end(), slow->first);
  const double late = LateIn(candidate, stretch);
  return late >= kClearlyLate * candidate.floor_ns * static_cast<double>(stretch.size()) &&
         late >= kMostOfLateness * LateInAll(candidate);
}

bool LateThroughout(const Candidate& candidate) {
  const LowLevel usual = UsualLevelOf(candidate);
  return usual.level - kStall * usual.deviation > candidate.floor_ns;
}

bool IsMostlyLateWith(const Candidate& candidate, const Candidate& other) {
  std::vector<size_t> others;  // ascending, as units are
  for (size_t k = 0; k < other.series.size(); ++k) {
    if (other.series[k] > other.floor_ns) others.push_back(other.units[k]);
  }
  size_t late = 0;
  size_t both = 0;
  for (size_t k = 0; k < candidate.series.size(); ++k) {
    if (candidate.series[k] <= candidate.floor_ns) continue;
    ++late;
    if (std::binary_search(others.begin(), others.end(), candidate.units[k])) ++both;
  }
  return 2 * both >= late;
}

std::optional<double> LateInOneEvent(const Candidate& candidate) {
  constexpr size_t kShort = 2;  // units; a longer one is a burst (recurrence.cc)
  const std::vector<double>& series = candidate.series;
  const std::vector<size_t> far = FarUnits(candidate, UpperMedian(series), kOneEvent * RobustDeviation(series));
  if (far.empty() || far.size() > kShort || far.back() - far.front() >= kShort) return std::nullopt;
  double in_all = 0;
  for (const double late : candidate.series) in_all += late;
  const double in_event = LateIn(candidate, far);
  return in_event >= kMostOfLateness * in_all ? std::optional(in_event) : std::nullopt;
}

}  // namespace lockstep
