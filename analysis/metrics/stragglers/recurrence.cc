#include "analysis/metrics/stragglers/recurrence.h"

#include <algorithm>
#include <cmath>

#include "analysis/metrics/stragglers/series_statistics.h"
#include "analysis/stats/order_statistic.h"
#include "analysis/stats/robust_deviation.h"

namespace lockstep {
namespace {

constexpr size_t kMinUnits = 8;
constexpr size_t kMostThinnedUnits = 1'024;

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double NormalTail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

// Autocorrelation at every lag up to a third of the series.
std::vector<double> Autocorrelations(const std::vector<double>& series) {
  const double mean = MeanOf(series);
  double power = 0;
  for (const double value : series) power += (value - mean) * (value - mean);
  std::vector<double> out(series.size() / 3 + 1, 0);
  if (power <= 0) return out;
  for (size_t lag = 1; lag < out.size(); ++lag) {
    double sum = 0;
    for (size_t i = lag; i < series.size(); ++i) sum += (series[i] - mean) * (series[i - lag] - mean);
    out[lag] = sum / power;
  }
  return out;
}

// Deviation of a step's noise, from differences of neighbours: slow changes do not count.
double NoiseOf(const std::vector<double>& series) {
  std::vector<double> steps;
  for (size_t i = 1; i < series.size(); ++i) steps.push_back(series[i] - series[i - 1]);
  return RobustDeviation(steps) / std::sqrt(2.0);
}

// Neighbours averaged so that at most kMostThinnedUnits are left; `width` of the input make one.
std::vector<double> Thinned(const std::vector<double>& series, size_t& width) {
  width = (series.size() + kMostThinnedUnits - 1) / kMostThinnedUnits;
  if (width <= 1) return series;
  std::vector<double> out;
  for (size_t i = 0; i + width <= series.size(); i += width) {
    double sum = 0;
    for (size_t j = i; j < i + width; ++j) sum += series[j];
    out.push_back(sum / static_cast<double>(width));
  }
  return out;
}

struct Stretch {
  size_t first = 0;
  size_t last = 0;
  double inside = 0;  // means
  double outside = 0;
  double score = 0;
};

// The stretch whose mean differs most from the rest, in units of the standard error (circular binary segmentation).
Stretch MostDifferent(const std::vector<double>& series) {
  constexpr size_t kShortest = 3;
  std::vector<double> sums = {0};
  for (const double value : series) sums.push_back(sums.back() + value);
  const size_t n = series.size();
  Stretch best;
  for (size_t first = 0; first < n; ++first) {
    for (size_t last = first + kShortest; last <= n && last - first + kShortest <= n; ++last) {
      const auto in = static_cast<double>(last - first);
      const double out = static_cast<double>(n) - in;
      const double inside = (sums[last] - sums[first]) / in;
      const double outside = (sums[n] - sums[last] + sums[first]) / out;
      const double score = (inside - outside) / std::sqrt(1 / in + 1 / out);
      if (score > best.score) best = {first, last, inside, outside, score};
    }
  }
  return best;
}

// By how much the values that are above `usual` by more than `noise` exceed it, together.
double LateBeyond(const std::vector<double>& series, double usual, double noise) {
  double late = 0;
  for (const double value : series) late += value - usual > noise ? value - usual : 0;
  return late;
}

}  // namespace

std::optional<double> FindPeriod(const std::vector<double>& series) {
  constexpr double kFalseAlarm = 0.01;
  if (series.size() < kMinUnits) return std::nullopt;
  const std::vector<double> correlation = Autocorrelations(series);
  const auto n = static_cast<double>(series.size());
  const auto lags = static_cast<double>(correlation.size());
  double highest = 0;
  std::vector<size_t> peaks;
  for (size_t lag = 2; lag < correlation.size(); ++lag) {
    // Slow noise falls off from lag to lag; a period rises above what lies half way to it.
    const double valley = *std::min_element(correlation.begin() + 1, correlation.begin() + static_cast<long>(lag));
    const double rise = correlation[lag] - std::max(0.0, valley);
    if (lag + 1 < correlation.size() && correlation[lag + 1] > correlation[lag]) continue;
    if (rise <= 0 || lags * NormalTail(rise * std::sqrt(n)) > kFalseAlarm) continue;
    peaks.push_back(lag);
    highest = std::max(highest, correlation[lag]);
  }
  for (const size_t lag : peaks) {
    if (correlation[lag] >= 0.6 * highest) return static_cast<double>(lag);
  }
  return std::nullopt;
}

std::optional<Burst> FindBurst(const std::vector<double>& series, double floor) {
  constexpr double kDeviations = 3;
  constexpr double kCertain = 6;   // of the best of all stretches
  constexpr double kMostly = 0.7;  // of the stretch is late; else it is a row of single pauses
  if (series.size() < kMinUnits) return std::nullopt;
  size_t width = 1;
  const std::vector<double> thinned = Thinned(series, width);
  const Stretch best = MostDifferent(thinned);
  const double noise = NoiseOf(thinned);
  const double rise = best.inside - best.outside;
  const bool stands_out = rise >= kDeviations * noise && best.score >= kCertain * noise;
  if (!stands_out || rise <= 0.1 * std::abs(best.inside) || best.inside <= floor) return std::nullopt;
  const auto from = thinned.begin() + static_cast<std::ptrdiff_t>(best.first);
  const auto to = thinned.begin() + static_cast<std::ptrdiff_t>(best.last);
  std::vector<double> rest(thinned.begin(), from);
  rest.insert(rest.end(), to, thinned.end());
  const double usual = Median(rest);
  if (usual >= floor) return std::nullopt;
  const auto length = static_cast<double>(to - from);
  if ((best.inside - usual) * length < LateBeyond(rest, usual, kDeviations * noise)) return std::nullopt;
  const auto late = std::count_if(from, to, [&](double value) { return value > floor; });
  if (static_cast<double>(late) < kMostly * length) return std::nullopt;
  return Burst{best.first * width, best.last * width};
}

RecurrenceResult ClassifyRecurrence(const std::vector<double>& series, double floor) {
  constexpr double kOften = 0.65;
  const auto late = std::count_if(series.begin(), series.end(), [&](double value) { return value > floor; });
  const double share = series.empty() ? 0 : static_cast<double>(late) / static_cast<double>(series.size());
  if (share >= kPersistentShare) return {Recurrence::kPersistent, std::nullopt};
  if (const auto period = FindPeriod(series)) return {Recurrence::kPeriodic, period};
  if (FindBurst(series, floor)) return {Recurrence::kBursty, std::nullopt};
  return {share >= kOften ? Recurrence::kPersistent : Recurrence::kRandom, std::nullopt};
}

}  // namespace lockstep
