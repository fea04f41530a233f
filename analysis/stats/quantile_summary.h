// What a report says of one distribution: count, sum, extremes, standard deviation and percentiles, each as a sketch of
// the same values tells it, to the last bit. For distributions that are never merged with another one: it takes some
// forty bytes where the values take thousands.
//
// Values are non-negative integers (nanoseconds). No I/O. A value: threads may share it.
#pragma once

#include <absl/status/statusor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/stats/sketch.h"

namespace lockstep {

class QuantileSummary {
 public:
  // The percentiles that are kept: p50, p90, p95, p99, p999.
  static constexpr std::array<double, 5> kLevels = {0.5, 0.9, 0.95, 0.99, 0.999};

  // All that is kept, as it travels.
  struct Facts {
    int64_t count = 0;
    int64_t sum = 0;    // INT64_MAX where it does not fit
    double stddev = 0;  // of the sample
    // Ascending. Of an exact sketch: least, p50, the middle above it (of an even number, else p50 again), p90, p95,
    // p99, p999, greatest; a percentile of too few values is the greatest. Of a histogram: least, greatest.
    std::vector<int64_t> values;
    // Of a histogram: the buckets of p50, p90, p95, p99, p999. Empty: exact.
    std::vector<int16_t> buckets;
    friend bool operator==(const Facts&, const Facts&) = default;
  };
  static constexpr size_t kExactValues = 8;
  static constexpr size_t kExtremes = 2;

  QuantileSummary() = default;
  explicit QuantileSummary(const Sketch& sketch);
  // Facts are a stranger's: kInvalidArgument for what no sketch of any values has.
  [[nodiscard]] static absl::StatusOr<QuantileSummary> FromFacts(Facts facts);

  [[nodiscard]] const Facts& facts() const { return facts_; }

  // As of the sketch.
  [[nodiscard]] bool empty() const { return facts_.count == 0; }
  [[nodiscard]] bool exact() const { return facts_.buckets.empty(); }
  [[nodiscard]] int64_t count() const { return facts_.count; }
  [[nodiscard]] int64_t sum() const { return facts_.sum; }
  [[nodiscard]] int64_t min() const { return empty() ? 0 : facts_.values.front(); }
  [[nodiscard]] int64_t max() const { return empty() ? 0 : facts_.values.back(); }
  [[nodiscard]] double mean() const;  // of a sum that does not fit: of INT64_MAX
  [[nodiscard]] double stddev() const { return facts_.stddev; }
  // `q` is one of kLevels.
  [[nodiscard]] std::optional<QuantileEstimate> Quantile(double q) const;
  [[nodiscard]] std::optional<double> Median() const;

  friend bool operator==(const QuantileSummary&, const QuantileSummary&) = default;

 private:
  Facts facts_;
};

}  // namespace lockstep
