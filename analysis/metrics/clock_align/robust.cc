#include "analysis/metrics/clock_align/robust.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "analysis/stats/order_statistic.h"
#include "analysis/stats/selection.h"

namespace lockstep {
namespace {

constexpr size_t kMaxBins = 512;
constexpr size_t kMaxReach = 32;  // bins on either side that a jump is measured with
constexpr size_t kMaxJumps = 4;

// Medians of runs of samples, so that long series cost no more than short ones.
std::vector<Sample> Binned(const std::vector<Sample>& series) {
  const size_t size = (series.size() + kMaxBins - 1) / kMaxBins;
  if (size <= 1) return series;
  std::vector<Sample> bins;
  std::vector<double> t;
  std::vector<double> y;
  for (size_t from = 0; from < series.size(); from += size) {
    t.clear();
    y.clear();
    for (size_t i = from; i < std::min(from + size, series.size()); ++i) {
      t.push_back(series[i].t);
      y.push_back(series[i].y);
    }
    bins.push_back({Median(t), Median(y)});
  }
  return bins;
}

// Slope of the series away from its jumps: the median slope between neighbouring eighths of the series' parts.
double TypicalSlope(const std::vector<Sample>& bins) {
  const size_t reach = std::max<size_t>(1, bins.size() / 16);
  std::vector<double> slopes;
  for (size_t i = 0; i + reach < bins.size(); ++i) {
    const double dt = bins[i + reach].t - bins[i].t;
    if (dt > 0) slopes.push_back((bins[i + reach].y - bins[i].y) / dt);
  }
  return Median(slopes);
}

void Detrend(std::vector<Sample>& samples, double slope) {
  for (Sample& s : samples) s.y -= slope * s.t;
}

double MedianOf(const std::vector<Sample>& samples, size_t from, size_t to) {
  std::vector<double> y;
  for (size_t i = from; i < to; ++i) y.push_back(samples[i].y);
  return Median(y);
}

// Of a single sample. The 85th percentile sees tails that could move the median of a few.
double SampleNoiseOf(const std::vector<Sample>& samples) {
  std::vector<double> steps;
  for (size_t i = 1; i < samples.size(); ++i) steps.push_back(std::abs(samples[i].y - samples[i - 1].y));
  if (steps.empty()) return 0;
  const size_t tail = steps.size() * 85 / 100;
  const size_t middle = steps.size() / 2;
  PutInPlace(std::span(steps), tail);
  if (tail > middle) PutInPlace(std::span(steps).first(tail), middle);
  double median = steps[middle];
  const auto end = steps.begin() + static_cast<std::ptrdiff_t>(middle);
  if (steps.size() % 2 == 0) median = (median + *std::max_element(steps.begin(), end)) / 2;
  return std::max(1.4826 * median, steps[tail] / 1.44) / std::sqrt(2.0);
}

// The split between samples [from, to) with the least sum of distances from the level on either side.
size_t SplitBetween(const std::vector<Sample>& samples, size_t from, size_t to, double before, double after) {
  double cost = 0;
  for (size_t i = from; i < to; ++i) cost += std::abs(samples[i].y - after);
  double best_cost = cost;
  size_t best = from;
  for (size_t i = from; i < to; ++i) {
    cost += std::abs(samples[i].y - before) - std::abs(samples[i].y - after);
    if (cost < best_cost) {
      best_cost = cost;
      best = i + 1;
    }
  }
  return best;
}

struct Candidate {
  size_t bin = 0;
  double before = 0;
  double after = 0;
  [[nodiscard]] double size() const { return after - before; }
};

// Medians of all runs of `reach` bins, in order of their first.
std::vector<double> RunningMedians(const std::vector<Sample>& bins, size_t reach) {
  std::vector<double> out;
  std::vector<double> window;  // ascending
  window.reserve(reach);
  for (size_t i = 0; i < bins.size(); ++i) {
    if (window.size() == reach) window.erase(std::lower_bound(window.begin(), window.end(), bins[i - reach].y));
    window.insert(std::upper_bound(window.begin(), window.end(), bins[i].y), bins[i].y);
    if (window.size() < reach) continue;
    out.push_back(reach % 2 == 1 ? window[reach / 2] : (window[reach / 2] + window[reach / 2 - 1]) / 2);
  }
  return out;
}

Candidate LargestJump(const std::vector<Sample>& bins, size_t reach) {
  const std::vector<double> medians = RunningMedians(bins, reach);
  Candidate best;
  for (size_t k = reach; k + reach <= bins.size(); ++k) {
    const Candidate c{k, medians[k - reach], medians[k]};
    if (std::abs(c.size()) > std::abs(best.size())) best = c;
  }
  return best;
}

// Half of the bins beside a jump are at the level before it or beyond, half at the one after: no jump is larger than
// the distance between these two ranks of all bins.
double MostJump(const std::vector<Sample>& bins, size_t reach) {
  std::vector<double> y;
  y.reserve(bins.size());
  for (const Sample& bin : bins) y.push_back(bin.y);
  const size_t low = (reach - 1) / 2;
  const size_t high = y.size() - 1 - low;
  PutInPlace(std::span(y), low);
  PutInPlace(std::span(y).subspan(low + 1), high - low - 1);
  return y[high] - y[low];
}

// Sharp: most of the change happens at the split, which a mere bend of the series does not do.
std::optional<Jump> FindOne(const std::vector<Sample>& series, const JumpRule& rule) {
  if (series.size() < 2 * rule.min_samples) return std::nullopt;
  std::vector<Sample> bins = Binned(series);
  const double slope = TypicalSlope(bins);
  Detrend(bins, slope);
  const size_t per_bin = (series.size() + kMaxBins - 1) / kMaxBins;
  const size_t least = std::max<size_t>(3, (rule.min_samples + per_bin - 1) / per_bin);
  const size_t reach = std::clamp(bins.size() / 8, least, kMaxReach);
  const double least_size = std::max(rule.min_size, rule.min_sigmas * SampleNoiseOf(bins));
  if (bins.size() < 2 * reach || MostJump(bins, reach) < least_size) return std::nullopt;
  const Candidate c = LargestJump(bins, reach);
  if (std::abs(c.size()) < least_size) return std::nullopt;
  std::vector<Sample> flat = series;
  Detrend(flat, slope);
  const size_t from = (c.bin - reach) * per_bin;
  const size_t to = std::min(flat.size(), (c.bin + reach) * per_bin);
  const size_t at = SplitBetween(flat, from, to, c.before, c.after);
  if (at <= from + 1 || at + 1 >= to) return std::nullopt;
  const size_t near = std::min({at - from, to - at, 3 * per_bin});
  const double size = MedianOf(flat, at, at + near) - MedianOf(flat, at - near, at);
  if (std::abs(size) < 0.7 * std::abs(c.size())) return std::nullopt;
  const double wide =
      MedianOf(flat, at, std::min(to, at + reach * per_bin)) - MedianOf(flat, at - std::min(at, reach * per_bin), at);
  return Jump{(series[at - 1].t + series[at].t) / 2, wide};
}

}  // namespace

double RobustScale(const std::vector<double>& values, double centre) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (double v : values) distances.push_back(std::abs(v - centre));
  return 1.4826 * Median(std::move(distances));
}

double HuberWeight(double residual, double scale) {
  const double distance = std::abs(residual) / scale;
  if (distance > 8) return 0;
  return distance <= 1.5 ? 1 : 1.5 / distance;
}

std::vector<Jump> FindJumps(std::vector<Sample> series, const JumpRule& rule) {
  std::vector<Jump> jumps;
  while (jumps.size() < kMaxJumps) {
    const std::optional<Jump> jump = FindOne(series, rule);
    if (!jump) break;
    jumps.push_back(*jump);
    for (Sample& s : series) s.y -= s.t > jump->t ? jump->size : 0;
  }
  std::sort(jumps.begin(), jumps.end(), [](const Jump& a, const Jump& b) { return a.t < b.t; });
  return jumps;
}

}  // namespace lockstep
