#include "analysis/metrics/stragglers/series_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/stats/incomplete_beta.h"
#include "analysis/stats/order_statistic.h"
#include "analysis/stats/robust_deviation.h"

namespace lockstep {
namespace {

constexpr double kMaxCorrelation = 0.999;
constexpr double kRounding = 1e-9;  // a scatter below this part of the mean is rounding, not noise

std::vector<double> WithoutOutliers(const std::vector<double>& series) {
  constexpr double kDeviations = 4;
  const double middle = Median(series);
  const double limit = kDeviations * RobustDeviation(series);
  std::vector<double> out = series;
  if (limit <= 0) return out;
  for (double& value : out) value = std::clamp(value, middle - limit, middle + limit);
  return out;
}

double Correlation(const std::vector<double>& deviations, size_t lag, double power) {
  double sum = 0;
  for (size_t i = lag; i < deviations.size(); ++i) sum += deviations[i] * deviations[i - lag];
  return sum / power;
}

// Kendall's correction, first order: the estimated mean pulls a correlation down by about (1 + 3 rho) / n.
double Unbiased(double correlation, double n) {
  return std::clamp((n * correlation + 1) / (n - 3), -1.0, kMaxCorrelation);
}

// 1 + 2 * sum of all autocorrelations, each taken one standard error `error` lower than estimated; of `lags` of them.
double Inflation(const Autocorrelation& it, double error, size_t lags) {
  const double rho = std::clamp(it.lag1 - error, 0.0, kMaxCorrelation);
  const double plain = (1 + rho) / (1 - rho);
  // Slow noise under fast one: the lags fall off more slowly than the first of them tells.
  if (rho <= 3 * error || it.lag2 - error <= rho * rho || it.from_first <= 0) return plain;
  const double sum_error = error * std::sqrt(static_cast<double>(lags));
  const double decay = std::clamp((it.from_second - sum_error) / it.from_first, 0.0, kMaxCorrelation);
  return std::max(plain, 1 + 2 * rho / (1 - decay));
}

}  // namespace

double BinomialTail(double n, double k, double p) {
  if (k <= 0) return 1;
  return IncompleteBeta(k, n - std::min(k, n) + 1, p);
}

std::vector<double> HolmAdjusted(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double running = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    running = std::max(running, std::min(1.0, static_cast<double>(order.size() - i) * p[order[i]]));
    adjusted[order[i]] = running;
  }
  return adjusted;
}

void Autocorrelation::AddShare(const Autocorrelation& one, double share) {
  lag1 += share * one.lag1;
  lag2 += share * one.lag2;
  from_first += share * one.from_first;
  from_second += share * one.from_second;
}

Autocorrelation AutocorrelationOf(const std::vector<double>& series) {
  if (series.size() < 4) return {};
  std::vector<double> deviations = WithoutOutliers(series);
  const auto n = static_cast<double>(deviations.size());
  const double mean = std::accumulate(deviations.begin(), deviations.end(), 0.0) / n;
  double power = 0;
  for (double& value : deviations) {
    value -= mean;
    power += value * value;
  }
  if (power <= n * kRounding * kRounding * mean * mean) return {};
  Autocorrelation out;
  const size_t lags = LagsOf(deviations.size());
  for (size_t lag = 1; lag <= lags; ++lag) {
    const double value = Unbiased(Correlation(deviations, lag, power), n);
    if (lag == 1) out.lag1 = value;
    if (lag == 2) out.lag2 = value;
    if (lag < lags) out.from_first += value;
    if (lag > 1) out.from_second += value;
  }
  return out;
}

size_t LagsOf(size_t values) { return std::clamp<size_t>(values / 5, 2, 8); }

double EffectiveCount(size_t values, const Autocorrelation& own, const FamilyCorrelation& family) {
  constexpr double kClearly = 4;  // standard errors
  const auto n = static_cast<double>(std::max<size_t>(values, 1));
  const double power = std::max(1 - family.mean.lag1 * family.mean.lag1, 0.05);
  const double error = std::sqrt(power / n);
  const double of_family = std::sqrt(power / (n * static_cast<double>(std::max<size_t>(1, family.members))));
  double inflation = Inflation(family.mean, of_family, LagsOf(values));
  if (own.lag1 > family.mean.lag1 + kClearly * error)
    inflation = std::max(inflation, Inflation(own, error, LagsOf(values)));
  return n / inflation;
}

double CountNeeded(double late, double alpha) {
  if (late <= 0.5) return kManySteps;
  double low = 1;
  double high = 2;
  while (BinomialTail(high, high * late, 0.5) > alpha && high < kManySteps) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (BinomialTail(middle, middle * late, 0.5) > alpha ? low : high) = middle;
  }
  return std::min(high, kManySteps);
}

}  // namespace lockstep
