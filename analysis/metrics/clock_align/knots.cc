#include "analysis/metrics/clock_align/knots.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lockstep {
namespace {

constexpr double kMaxRate = 5e-5;  // sd of the rate between two clocks: decides only where the samples do not

// Symmetric with two diagonals beside the main one.
class Banded {
 public:
  explicit Banded(size_t size) : rows_(size) {}
  void Add(size_t i, size_t j, double value) {
    if (i >= j) rows_[i][i - j] += value;
  }
  // Cholesky in place, then both substitutions.
  std::vector<double> Solve(std::vector<double> right) {
    const size_t n = rows_.size();
    for (size_t i = 0; i < n; ++i) {
      for (size_t back = std::min<size_t>(2, i) + 1; back-- > 0;) {
        const size_t j = i - back;
        double sum = rows_[i][back];
        for (size_t k = i > 2 ? i - 2 : 0; k < j; ++k) {
          if (j - k <= 2) sum -= rows_[i][i - k] * rows_[j][j - k];
        }
        rows_[i][back] = back == 0 ? std::sqrt(std::max(sum, 1e-300)) : sum / rows_[j][0];
      }
      for (size_t back = 1; back <= std::min<size_t>(2, i); ++back) right[i] -= rows_[i][back] * right[i - back];
      right[i] /= rows_[i][0];
    }
    for (size_t i = n; i-- > 0;) {
      for (size_t ahead = 1; ahead <= 2 && i + ahead < n; ++ahead)
        right[i] -= rows_[i + ahead][ahead] * right[i + ahead];
      right[i] /= rows_[i][0];
    }
    return right;
  }

 private:
  std::vector<std::array<double, 3>> rows_;
};

}  // namespace

Knots::Place Knots::Locate(double t) const {
  const auto after = std::upper_bound(times_.begin(), times_.end(), t);
  const auto found = static_cast<size_t>(after - times_.begin());
  const size_t knot = std::clamp<size_t>(found, 1, times_.size() - 1) - 1;
  return {knot, (t - times_[knot]) / (times_[knot + 1] - times_[knot])};
}

double Knots::At(const std::vector<double>& values, double t) const {
  const Place place = Locate(t);
  return values[place.knot] * (1 - place.share) + values[place.knot + 1] * place.share;
}

std::vector<double> FitKnots(const Knots& knots, const std::vector<WeightedSample>& samples, double bend_sd) {
  const size_t n = knots.size();
  Banded normal(n);
  std::vector<double> right(n);
  double total = 0;
  for (const WeightedSample& s : samples) {
    const Knots::Place place = knots.Locate(s.t);
    const double here = 1 - place.share;
    const double next = place.share;
    normal.Add(place.knot, place.knot, s.weight * here * here);
    normal.Add(place.knot + 1, place.knot, s.weight * here * next);
    normal.Add(place.knot + 1, place.knot + 1, s.weight * next * next);
    right[place.knot] += s.weight * here * s.y;
    right[place.knot + 1] += s.weight * next * s.y;
    total += s.weight;
  }
  const double bend = 1 / (bend_sd * bend_sd);
  for (size_t i = 0; i + 2 < n; ++i) {
    constexpr std::array<double, 3> kSecond{1, -2, 1};
    for (size_t r = 0; r < 3; ++r) {
      for (size_t c = 0; c <= r; ++c) normal.Add(i + r, i + c, bend * kSecond[r] * kSecond[c]);
    }
  }
  const double rate_sd = kMaxRate * knots.width();
  for (size_t i = 0; i + 1 < n; ++i) {
    const double tie = 1 / (rate_sd * rate_sd);
    normal.Add(i, i, tie);
    normal.Add(i + 1, i, -tie);
    normal.Add(i + 1, i + 1, tie);
  }
  for (size_t i = 0; i < n; ++i) normal.Add(i, i, 1e-9 * total + 1e-24);
  return normal.Solve(std::move(right));
}

std::vector<WeightedSample> MedianBins(const std::vector<Sample>& samples, size_t size) {
  std::vector<WeightedSample> out;
  const size_t bins = std::max<size_t>(1, samples.size() / size);
  std::vector<double> t;
  std::vector<double> y;
  for (size_t b = 0; b < bins; ++b) {
    t.clear();
    y.clear();
    for (size_t i = b * samples.size() / bins; i < (b + 1) * samples.size() / bins; ++i) {
      t.push_back(samples[i].t);
      y.push_back(samples[i].y);
    }
    if (!t.empty()) out.push_back({Median(t), Median(y), static_cast<double>(t.size())});
  }
  return out;
}

}  // namespace lockstep
