// A mergeable summary of non-negative integer values (nanoseconds, bytes).
//
// Keeps exact count, int64 sum, unsigned 128-bit sum of squares, minimum and maximum, and the exact multiset while it
// has at most 1,024 distinct values; beyond that only a base-2 exponential histogram of fixed scale 6 (bucket_index.h:
// 64 buckets an octave, value error of the midpoint 2lu/(l+u) <= 0.54 %). Merging converts if and only if the *union*
// exceeds 1,024 distinct values, so a result depends on the union alone, never on the order of merging. (A sketch may
// also be converted early by its owner, ForgetExact, to bound memory.)
//
// Quantiles: pQ is the order statistic x_(ceil(Q n)), 1-based, without interpolation; null when n < 1/(1-Q).
// Negative input is a broken invariant of the caller. No I/O. Const calls change nothing, so threads may share a sketch
// that nobody writes.
//
// Limits: sum and sum of squares are kept in 128 bits. Every total stops at its largest value instead of wrapping; no
// physical run comes near, and the order of merging still makes no difference.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <absl/status/statusor.h>

#include "analysis/base/int128.h"
#include "analysis/stats/bucket_index.h"
#include "analysis/stats/histogram.h"
#include "analysis/stats/value_counts.h"

namespace lockstep {

struct QuantileEstimate {
  int64_t value = 0;
  int64_t lower = 0;  // certain bounds: lower <= true order statistic <= upper
  int64_t upper = 0;
  bool exact = true;
};

// 1-based rank of pQ among so many values; null below 1/(1-Q) of them. q in [0, 1], read to 1e-9.
[[nodiscard]] std::optional<int64_t> RankOf(double q, int64_t count);
// What is known of a value from its bucket: 2lu/(l+u) of the smallest and largest integer l and u of the bucket,
// rounded, all three clamped to [min, max].
[[nodiscard]] QuantileEstimate EstimateOf(int16_t bucket, int64_t min, int64_t max);

class Sketch {
 public:
  static constexpr size_t kMaxDistinct = 1024;

  void Add(int64_t value, int64_t times = 1);
  // Many at once: costs much less than to add them one by one, and gives the same.
  void AddAll(std::span<const int64_t> values);
  // Of ascending values.
  [[nodiscard]] static Sketch OfSorted(std::span<const int64_t> values);
  void Merge(const Sketch& other);
  // Gives up the exact multiset (keeps count, sum, squares, min, max exact).
  void ForgetExact();

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] bool exact() const { return exact_; }
  [[nodiscard]] int64_t count() const { return count_; }
  // The exact sum; INT64_MAX where it does not fit (292 years of ns), which sum_fits() tells.
  [[nodiscard]] int64_t sum() const;
  [[nodiscard]] bool sum_fits() const;
  [[nodiscard]] uint128 sum_of_squares() const { return squares_; }
  [[nodiscard]] int64_t min() const { return min_; }
  [[nodiscard]] int64_t max() const { return max_; }
  [[nodiscard]] size_t distinct() const { return values_.size(); }  // exact sketches only
  [[nodiscard]] double mean() const;
  // Sample standard deviation (n - 1); 0 for n <= 1.
  [[nodiscard]] double stddev() const;
  // Null when count < 1/(1-q) (p90 needs 10, p95 20, p99 100, p999 1,000); p50 needs 2.
  [[nodiscard]] std::optional<QuantileEstimate> Quantile(double q) const;
  // The order statistic of 1-based rank k, 1 <= k <= count. Histogram: what its bucket says (EstimateOf).
  [[nodiscard]] QuantileEstimate OrderStatistic(int64_t k) const;
  // nsys's median: mean of the two middles; null if the sketch is not exact or empty.
  [[nodiscard]] std::optional<double> Median() const;
  // Sum over values > threshold of (x - base), base <= threshold: exact, or an estimate with certain bounds from the
  // histogram. Stops at INT64_MAX.
  struct Excess {
    int64_t lower = 0;
    int64_t upper = 0;
    int64_t value = 0;
  };
  [[nodiscard]] Excess ExcessOver(int64_t threshold, int64_t base) const;
  // Number of values that lie in histogram buckets above the bucket of `value` (also while the sketch is exact).
  [[nodiscard]] int64_t CountAboveBucketOf(int64_t value) const;

  // Of exact sketches; the buckets, of histogram sketches.
  [[nodiscard]] const ValueCounts& values() const { return values_; }
  [[nodiscard]] const Histogram& buckets() const { return buckets_; }
  // Of the two, what it has.
  [[nodiscard]] size_t entries() const { return exact_ ? values_.size() : buckets_.size(); }

  // Versioned binary form (version byte, varints). Decode checks everything: it is fed from the wire and from stores.
  void EncodeTo(std::string& out) const;
  static absl::StatusOr<Sketch> Decode(std::string_view bytes);
  static constexpr int64_t kMaxDecodedCount = int64_t{1} << 40;  // a sketch that claims more is refused

  friend bool operator==(const Sketch&, const Sketch&) = default;

 private:
  friend class SketchDecoder;

  void AddToMoments(int64_t value, int64_t times);
  void AddToMoments(std::span<const int64_t> values);
  // Sum of squared deviations from the mean; the second one from the stored entries, when the squares have stopped.
  [[nodiscard]] double SquaredDeviations() const;
  [[nodiscard]] double EstimatedSquaredDeviations() const;
  [[nodiscard]] Excess ExactExcess(int64_t threshold, int64_t base) const;
  [[nodiscard]] Excess HistogramExcess(int64_t threshold, int64_t base) const;

  bool exact_ = true;
  int64_t count_ = 0;
  int64_t min_ = 0;
  int64_t max_ = 0;
  uint128 sum_ = 0;
  uint128 squares_ = 0;
  ValueCounts values_;  // exact
  Histogram buckets_;   // otherwise
};

}  // namespace lockstep
