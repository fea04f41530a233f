#include "analysis/stats/sketch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "analysis/base/check.h"
#include "analysis/base/saturating.h"

namespace lockstep {
namespace {

constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
constexpr int64_t kQuantileUnit = 1'000'000'000;  // quantiles are compared in integers: 1 - 0.9 is not 0.1 in binary

// Values that are added at once; so many up to that size add up, and their squares, within 128 bits.
constexpr size_t kMostQuickValues = ValueCounts::kMostAtOnce;
constexpr int64_t kLargestQuickValue = int64_t{1} << 60;

uint128 MultiplyStopping(uint128 a, uint128 b) {
  uint128 product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMaxUint128 : product;
}

int64_t Narrow(uint128 value) {
  return value > static_cast<uint128>(kMaxInt64) ? kMaxInt64 : static_cast<int64_t>(value);
}

uint128 Product(int64_t a, int64_t b) { return static_cast<uint128>(a) * static_cast<uint128>(b); }

Histogram BucketsOf(const ValueCounts& values) {
  Histogram out;
  values.ForEach([&out](int64_t value, int64_t times) { out.Add(BucketIndex(value), times); });
  return out;
}

// Smallest and largest integer of a bucket and what stands for it.
struct BucketSpan {
  int64_t first = 0;
  int64_t middle = 0;
  int64_t last = 0;
};

BucketSpan SpanOf(int16_t index, int64_t min, int64_t max) {
  const BucketBounds bounds = BoundsOf(index);
  if (bounds.upper == 0) return {};
  const int128 first = int128{bounds.lower} + 1;
  const int128 last = bounds.upper;
  const auto middle = static_cast<int64_t>((2 * first * last + (first + last) / 2) / (first + last));
  return {std::clamp(static_cast<int64_t>(first), min, max), std::clamp(middle, min, max),
          std::clamp(bounds.upper, min, max)};
}

int16_t BucketOfRank(const Histogram& buckets, int64_t k) {
  int64_t seen = 0;
  std::optional<int16_t> found;
  buckets.ForEach([&](int16_t index, int64_t times) {
    seen = AddStopping(seen, times);
    if (!found && seen >= k) found = index;
  });
  return found.value_or(buckets.back());
}

}  // namespace

std::optional<int64_t> RankOf(double q, int64_t count) {
  LOCKSTEP_CHECK(q >= 0 && q <= 1);
  const auto scaled = static_cast<int64_t>(q * static_cast<double>(kQuantileUnit) + 0.5);
  if (int128{count} * (kQuantileUnit - scaled) < kQuantileUnit) return std::nullopt;
  const int128 rank = (int128{count} * scaled + kQuantileUnit - 1) / kQuantileUnit;
  return std::max<int64_t>(1, static_cast<int64_t>(rank));
}

QuantileEstimate EstimateOf(int16_t bucket, int64_t min, int64_t max) {
  const BucketSpan span = SpanOf(bucket, min, max);
  return {span.middle, span.first, span.last, false};
}

void Sketch::AddToMoments(int64_t value, int64_t times) {
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = count_ == 0 ? value : std::max(max_, value);
  count_ = AddStopping(count_, times);
  sum_ = AddStopping(sum_, Product(value, times));
  const auto magnitude = static_cast<uint128>(value);
  squares_ = AddStopping(squares_, MultiplyStopping(magnitude * magnitude, static_cast<uint128>(times)));
}

void Sketch::Add(int64_t value, int64_t times) {
  LOCKSTEP_CHECK(value >= 0 && times >= 0);
  if (times == 0) return;
  AddToMoments(value, times);
  if (!exact_) {
    buckets_.Add(BucketIndex(value), times);
    return;
  }
  values_.Add(value, times);
  if (values_.size() > kMaxDistinct) ForgetExact();
}

void Sketch::AddToMoments(std::span<const int64_t> values) {
  int64_t min = values.front();
  int64_t max = min;
  for (const int64_t value : values) {
    min = std::min(min, value);
    max = std::max(max, value);
  }
  LOCKSTEP_CHECK(min >= 0);
  if (max > kLargestQuickValue || values.size() > kMostQuickValues) {
    for (const int64_t value : values) AddToMoments(value, 1);
    return;
  }
  uint128 sum = 0;
  uint128 squares = 0;
  for (const int64_t value : values) {
    sum += static_cast<uint64_t>(value);
    squares += Product(value, value);
  }
  min_ = count_ == 0 ? min : std::min(min_, min);
  max_ = count_ == 0 ? max : std::max(max_, max);
  count_ = AddStopping(count_, static_cast<int64_t>(values.size()));
  sum_ = AddStopping(sum_, sum);
  squares_ = AddStopping(squares_, squares);
}

Sketch Sketch::OfSorted(std::span<const int64_t> values) {
  LOCKSTEP_CHECK(std::is_sorted(values.begin(), values.end()));
  Sketch out;
  if (values.empty()) return out;
  out.AddToMoments(values);
  out.values_ = ValueCounts::OfSorted(values);
  if (out.values_.size() > kMaxDistinct) out.ForgetExact();
  return out;
}

void Sketch::AddAll(std::span<const int64_t> values) {
  while (!values.empty()) {
    const std::span<const int64_t> some = values.first(std::min(values.size(), kMostQuickValues));
    values = values.subspan(some.size());
    AddToMoments(some);
    if (exact_) {
      values_.AddAll(some);
      if (values_.size() > kMaxDistinct) ForgetExact();
    } else {
      std::array<int16_t, kMostQuickValues> indices;
      std::transform(some.begin(), some.end(), indices.begin(), BucketIndex);
      buckets_.AddAll(std::span(indices).first(some.size()));
    }
  }
}

void Sketch::ForgetExact() {
  if (!exact_) return;
  buckets_ = BucketsOf(values_);
  values_ = {};
  exact_ = false;
}

void Sketch::Merge(const Sketch& other) {
  if (count_ == 0 && exact_) {
    *this = other;
    return;
  }
  if (other.exact_ && exact_) {
    values_.Merge(other.values_);
    if (values_.size() > kMaxDistinct) ForgetExact();
  } else {
    ForgetExact();
    buckets_.Merge(other.exact_ ? BucketsOf(other.values_) : other.buckets_);
  }
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  count_ = AddStopping(count_, other.count_);
  sum_ = AddStopping(sum_, other.sum_);
  squares_ = AddStopping(squares_, other.squares_);
}

int64_t Sketch::sum() const { return Narrow(sum_); }

bool Sketch::sum_fits() const { return sum_ <= static_cast<uint128>(kMaxInt64); }

double Sketch::mean() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_); }

// With sum = q n + r: sum (x - q)^2 = squares - q sum - q r, exact in integers and free of cancellation; moving the
// centre from q to the mean takes r^2 / n away.
double Sketch::SquaredDeviations() const {
  if (squares_ == kMaxUint128) return EstimatedSquaredDeviations();
  const auto n = static_cast<uint128>(count_);
  const uint128 quotient = sum_ / n;
  const uint128 rest = sum_ % n;
  const auto around_quotient = static_cast<double>(squares_ - quotient * sum_ - quotient * rest);
  return around_quotient - static_cast<double>(rest) * (static_cast<double>(rest) / static_cast<double>(n));
}

double Sketch::EstimatedSquaredDeviations() const {
  const double centre = mean();
  double total = 0;
  const auto add = [&](int64_t value, int64_t times) {
    const double deviation = static_cast<double>(value) - centre;
    total += deviation * deviation * static_cast<double>(times);
  };
  values_.ForEach(add);
  buckets_.ForEach([&](int16_t index, int64_t times) { add(SpanOf(index, min_, max_).middle, times); });
  return total;
}

double Sketch::stddev() const {
  if (count_ <= 1) return 0;
  return std::sqrt(std::max(0.0, SquaredDeviations()) / static_cast<double>(count_ - 1));
}

std::optional<QuantileEstimate> Sketch::Quantile(double q) const {
  const std::optional<int64_t> rank = RankOf(q, count_);
  if (!rank.has_value()) return std::nullopt;
  return OrderStatistic(*rank);
}

QuantileEstimate Sketch::OrderStatistic(int64_t k) const {
  LOCKSTEP_CHECK(k >= 1 && k <= count_);
  if (exact_) {
    const int64_t value = values_.ValueOfRank(k);
    return {value, value, value, true};
  }
  return EstimateOf(BucketOfRank(buckets_, k), min_, max_);
}

std::optional<double> Sketch::Median() const {
  if (!exact_ || count_ == 0) return std::nullopt;
  const auto lower = static_cast<double>(values_.ValueOfRank((count_ - 1) / 2 + 1));
  const auto upper = static_cast<double>(values_.ValueOfRank(count_ / 2 + 1));
  return (lower + upper) / 2;
}

Sketch::Excess Sketch::ExcessOver(int64_t threshold, int64_t base) const {
  LOCKSTEP_CHECK(base >= 0 && base <= threshold);
  return exact_ ? ExactExcess(threshold, base) : HistogramExcess(threshold, base);
}

Sketch::Excess Sketch::ExactExcess(int64_t threshold, int64_t base) const {
  uint128 total = 0;
  values_.ForEach([&](int64_t value, int64_t times) {
    if (value > threshold) total = AddStopping(total, Product(value - base, times));
  });
  const int64_t narrow = Narrow(total);
  return {narrow, narrow, narrow};
}

Sketch::Excess Sketch::HistogramExcess(int64_t threshold, int64_t base) const {
  uint128 lower = 0;
  uint128 upper = 0;
  uint128 value = 0;
  buckets_.ForEach([&](int16_t index, int64_t times) {
    const BucketSpan span = SpanOf(index, min_, max_);
    if (span.last <= threshold) return;
    // In the one bucket that holds the threshold all may lie above or none; the middle decides.
    if (span.first > threshold) lower = AddStopping(lower, Product(span.first - base, times));
    if (span.middle > threshold) value = AddStopping(value, Product(span.middle - base, times));
    upper = AddStopping(upper, Product(span.last - base, times));
  });
  return {Narrow(lower), Narrow(upper), Narrow(value)};
}

int64_t Sketch::CountAboveBucketOf(int64_t value) const {
  const int16_t index = BucketIndex(std::max<int64_t>(0, value));
  const int64_t upper = BoundsOf(index).upper;
  int64_t count = 0;
  values_.ForEach([&](int64_t key, int64_t times) { count = AddStopping(count, key > upper ? times : 0); });
  buckets_.ForEach([&](int16_t key, int64_t times) { count = AddStopping(count, key > index ? times : 0); });
  return count;
}

}  // namespace lockstep
