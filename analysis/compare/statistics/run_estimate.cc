#include "analysis/compare/statistics/run_estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/compare/statistics/long_run_variance.h"
#include "analysis/stats/order_statistic.h"
#include "analysis/stats/student_t.h"

namespace lockstep::compare {
namespace {

constexpr double kTrimmedShare = 0.2;
constexpr double kMostMagnitude = 9.3e18;  // of a time in ns

std::vector<double> UsableValues(std::span<const double> values, Scale scale) {
  std::vector<double> usable;
  usable.reserve(values.size());
  for (const double value : values) {
    if (!(std::abs(value) <= kMostMagnitude)) continue;
    if (scale == Scale::kLevel) usable.push_back(value);
    if (scale == Scale::kLog && value > 0) usable.push_back(std::log(value));
  }
  return usable;
}

// A mean and the limits beyond which values do not move it.
struct TrimmedMean {
  double mean = 0;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  size_t kept = 0;
};

// Of one value or more.
TrimmedMean TrimmedMeanOf(std::span<const double> values, Scale scale) {
  TrimmedMean result;
  std::vector<double> sorted(values.begin(), values.end());
  size_t cut = 0;
  if (scale == Scale::kLog) {
    std::sort(sorted.begin(), sorted.end());
    cut = static_cast<size_t>(kTrimmedShare * static_cast<double>(sorted.size()));
    result.low = sorted[cut];
    result.high = sorted[sorted.size() - 1 - cut];
  }
  result.kept = sorted.size() - 2 * cut;
  for (const double value : std::span(sorted).subspan(cut, result.kept)) result.mean += value;
  result.mean /= static_cast<double>(result.kept);
  return result;
}

// Level, error, tau and effective steps.
RunEstimate LevelOf(std::span<const double> values, Scale scale) {
  RunEstimate result;
  result.steps = values.size();
  if (values.empty()) return result;
  const TrimmedMean trimmed = TrimmedMeanOf(values, scale);
  result.level = trimmed.mean;
  std::vector<double> influence;
  influence.reserve(values.size());
  for (const double value : values) influence.push_back(std::clamp(value, trimmed.low, trimmed.high) - trimmed.mean);
  const LongRunVariance long_run = LongRunVarianceOf(influence);
  result.tau = long_run.tau;
  result.effective = long_run.effective;
  const auto count = static_cast<double>(values.size());
  const auto kept = static_cast<double>(trimmed.kept);
  if (trimmed.kept > 1) result.error = std::sqrt(long_run.variance * long_run.tau * count / (kept * (kept - 1)));
  return result;
}

double DriftOf(std::span<const double> values, Scale scale) {
  const size_t third = values.size() / 3;
  return 1.5 * (TrimmedMeanOf(values.last(third), scale).mean - TrimmedMeanOf(values.first(third), scale).mean);
}

std::vector<double> WithoutDrift(std::span<const double> values, double drift) {
  std::vector<double> result(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  for (size_t i = 0; i < result.size(); ++i) result[i] -= drift * (static_cast<double>(i) / last - 0.5);
  return result;
}

double MedianOfWindow(std::span<const double> values) {
  return Median(std::vector<double>(values.begin(), values.end()));
}

}  // namespace

double DegreesOf(const RunEstimate& run) { return std::max(kFewestDegrees, run.effective / 2 - 1); }

RunEstimate EstimateRun(std::span<const double> values, Scale scale) {
  constexpr size_t kFewestForDrift = 12;
  const std::vector<double> usable = UsableValues(values, scale);
  RunEstimate result = LevelOf(usable, scale);
  if (usable.size() >= kFewestForDrift) {
    const double drift = DriftOf(usable, scale);
    RunEstimate steady = LevelOf(WithoutDrift(usable, drift), scale);
    const double drift_error = std::sqrt(13.5) * steady.error;
    if (drift != 0 && TwoSidedP(drift / drift_error, DegreesOf(steady)) < kDriftSignificance) {
      if (scale == Scale::kLevel) steady.level = result.level;  // the plain mean to the last bit
      result = steady;
      result.drifts = true;
    }
    result.drift = drift;
    result.drift_error = drift_error;
  }
  result.unusable = values.size() - usable.size();
  return result;
}

size_t WarmUpSteps(std::span<const double> step_times) {
  constexpr size_t kWindow = 10;
  const size_t count = step_times.size();
  if (count < 2 * kWindow) return 0;
  for (const double value : step_times) {
    if (!(std::abs(value) <= kMostMagnitude)) return 0;
  }
  const double median = MedianOfWindow(step_times);
  std::vector<double> deviations;
  for (const double value : step_times) deviations.push_back(std::abs(value - median));
  const double mad = Median(std::move(deviations));
  const size_t most = count * 3 / 10;
  // Warm-up takes longer: a begin that is faster than the rest is the run as it was, before it got worse.
  for (size_t i = 0; i < most; ++i) {
    if (step_times[i] - median > 5 * mad) continue;
    if (MedianOfWindow(step_times.subspan(i, kWindow)) - median <= 3 * mad) return i;
  }
  return most;
}

}  // namespace lockstep::compare
