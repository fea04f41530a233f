#include "analysis/compare/statistics/resolution.h"

#include <algorithm>
#include <cmath>

#include "analysis/stats/student_t.h"

namespace lockstep::compare {
namespace {

// Standard errors that a change must have to be found in kPower of the cases.
double ErrorsToFind(double degrees) { return QuantileOfT(0.975, degrees) + QuantileOfT(kPower, degrees); }

bool CanPlan(const Comparison& comparison, double size) {
  return size > 0 && std::isfinite(size) && comparison.base_runs > 0 && comparison.fresh_runs > 0;
}

bool ResolvesNow(const Comparison& comparison, double size) {
  return comparison.verdict != Verdict::kNotEnoughSteps && comparison.resolution <= size;
}

// Standard deviation of the measured level of one run.
double SpreadOfARun(const Comparison& comparison) {
  if (comparison.floor.source == FloorSource::kRepeats) return comparison.floor.spread;
  const double runs = 1 / static_cast<double>(comparison.base_runs) + 1 / static_cast<double>(comparison.fresh_runs);
  const double within = comparison.error_within * comparison.error_within / runs;
  return std::sqrt(comparison.floor.spread * comparison.floor.spread + within);
}

}  // namespace

std::optional<size_t> MoreRepeatsToResolve(const Comparison& comparison, double size) {
  if (!CanPlan(comparison, size)) return std::nullopt;
  if (ResolvesNow(comparison, size)) return 0;
  const double spread = SpreadOfARun(comparison);
  const size_t present = std::max(comparison.base_runs, comparison.fresh_runs);
  const auto finds = [&](size_t repeats) {
    const auto runs = static_cast<double>(repeats);
    return ErrorsToFind(2 * runs - 2) * spread * std::sqrt(2 / runs) <= size;
  };
  size_t low = std::max<size_t>(present, 1);  // too few
  size_t high = present + kMostRepeatsPlanned;
  if (!finds(high)) return std::nullopt;
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    (finds(middle) ? high : low) = middle;
  }
  return high - present;
}

std::optional<size_t> MoreStepsToResolve(const Comparison& comparison, double size) {
  constexpr double kMostSteps = 1e15;
  if (!CanPlan(comparison, size)) return std::nullopt;
  if (ResolvesNow(comparison, size)) return 0;
  if (comparison.floor.source == FloorSource::kRepeats || comparison.drift != 0) return std::nullopt;
  const double within = comparison.error_within * comparison.error_within;
  const double between = std::max(0.0, comparison.error * comparison.error - within);
  const double target = size / ErrorsToFind(comparison.degrees);
  const double left = target * target - between;
  if (!(left > 0)) return std::nullopt;
  const double needed = std::max(static_cast<double>(comparison.steps) * within / left, comparison.steps_needed);
  const double more = std::ceil(needed - static_cast<double>(comparison.steps));
  if (!(more < kMostSteps)) return std::nullopt;
  return static_cast<size_t>(std::max(more, 1.0));
}

}  // namespace lockstep::compare
