#include "analysis/metrics/stragglers/stalls.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "analysis/stats/order_statistic.h"
#include "analysis/stats/robust_deviation.h"

namespace lockstep {
namespace {

constexpr double kMostOfLateness = 0.5;

// Their places in the series.
std::vector<size_t> FarUnits(const Candidate& candidate) {
  constexpr double kFarBeyond = 8;  // robust standard deviations
  const std::vector<double>& series = candidate.series;
  const double far = UpperMedian(series) + kFarBeyond * RobustDeviation(series) + candidate.floor_ns;
  std::vector<size_t> places;
  for (size_t i = 0; i < series.size(); ++i) {
    if (series[i] > far) places.push_back(i);
  }
  return places;
}

double LateIn(const Candidate& candidate, const std::vector<size_t>& units) {
  double sum = 0;
  for (const size_t unit : units) sum += candidate.series[unit];
  return sum;
}

}  // namespace

bool Stalls(const Candidate& candidate) {
  const std::vector<size_t> far = FarUnits(candidate);
  double in_all = 0;
  for (const double late : candidate.series) in_all += std::max(0.0, late);
  return far.size() >= 2 && LateIn(candidate, far) >= kMostOfLateness * in_all;
}

std::optional<double> LateInOneEvent(const Candidate& candidate) {
  constexpr size_t kShort = 2;  // units; a longer one is a burst (recurrence.cc)
  const std::vector<size_t> far = FarUnits(candidate);
  if (far.empty() || far.size() > kShort || far.back() - far.front() >= kShort) return std::nullopt;
  double in_all = 0;
  for (const double late : candidate.series) in_all += late;
  const double in_event = LateIn(candidate, far);
  return in_event >= kMostOfLateness * in_all ? std::optional(in_event) : std::nullopt;
}

}  // namespace lockstep
