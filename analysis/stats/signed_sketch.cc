#include "analysis/stats/signed_sketch.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/base/check.h"

namespace lockstep {
namespace {

double SquaredDeviations(const Sketch& part) {
  if (part.count() < 2) return 0;
  const double deviation = part.stddev();
  return deviation * deviation * static_cast<double>(part.count() - 1);
}

// What the distance of a part's mean from the common mean adds.
double BetweenParts(int64_t count, double part_mean, double mean) {
  return static_cast<double>(count) * (part_mean - mean) * (part_mean - mean);
}

QuantileEstimate Mirror(const QuantileEstimate& e) { return {-e.value, -e.upper, -e.lower, e.exact}; }

}  // namespace

void SignedSketch::Add(int64_t value) {
  LOCKSTEP_CHECK(value != INT64_MIN);
  if (value < 0) {
    negative_.Add(-value);
  } else {
    positive_.Add(value);
  }
}

// The sign of one value tells nothing of the next: each goes to both sides, and only one of them keeps it.
void SignedSketch::AddAll(std::span<const int64_t> values) {
  constexpr size_t kSome = 128;
  std::array<int64_t, kSome> negative;
  std::array<int64_t, kSome> positive;
  while (!values.empty()) {
    const std::span<const int64_t> some = values.first(std::min(values.size(), kSome));
    values = values.subspan(some.size());
    size_t negatives = 0;
    size_t positives = 0;
    for (const int64_t value : some) {
      LOCKSTEP_CHECK(value != INT64_MIN);
      negative[negatives] = -value;
      positive[positives] = value;
      negatives += static_cast<size_t>(value < 0);
      positives += static_cast<size_t>(value >= 0);
    }
    negative_.AddAll(std::span(negative).first(negatives));
    positive_.AddAll(std::span(positive).first(positives));
  }
}

void SignedSketch::Merge(const SignedSketch& other) {
  negative_.Merge(other.negative_);
  positive_.Merge(other.positive_);
}

int64_t SignedSketch::min() const { return negative_.empty() ? positive_.min() : -negative_.max(); }

int64_t SignedSketch::max() const { return positive_.empty() ? -negative_.min() : positive_.max(); }

double SignedSketch::mean() const { return empty() ? 0 : static_cast<double>(sum()) / static_cast<double>(count()); }

double SignedSketch::stddev() const {
  if (count() <= 1) return 0;
  const double centre = mean();
  const double total = SquaredDeviations(negative_) + SquaredDeviations(positive_) +
                       BetweenParts(negative_.count(), -negative_.mean(), centre) +
                       BetweenParts(positive_.count(), positive_.mean(), centre);
  return std::sqrt(total / static_cast<double>(count() - 1));
}

std::optional<QuantileEstimate> SignedSketch::Quantile(double q) const {
  const std::optional<int64_t> rank = RankOf(q, count());
  if (!rank) return std::nullopt;
  return OrderStatistic(*rank);
}

QuantileEstimate SignedSketch::OrderStatistic(int64_t k) const {
  LOCKSTEP_CHECK(k >= 1 && k <= count());
  const int64_t below = negative_.count();
  if (k > below) return positive_.OrderStatistic(k - below);
  return Mirror(negative_.OrderStatistic(below - k + 1));
}

}  // namespace lockstep
