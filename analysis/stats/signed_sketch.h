// A mergeable summary of signed integer values: two Sketches, one for the values >= 0 and one for the mirrored negative
// ones. Order statistics run over the union, ascending; the rules for nulls are those of Sketch. Exact as long as both
// stores are. Not thread safe. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analysis/stats/sketch.h"

namespace lockstep {

class SignedSketch {
 public:
  // `value` must not be INT64_MIN: its mirror does not fit.
  void Add(int64_t value);
  // Many at once: costs much less than to add them one by one, and gives the same.
  void AddAll(std::span<const int64_t> values);
  void Merge(const SignedSketch& other);

  [[nodiscard]] bool empty() const { return count() == 0; }
  [[nodiscard]] bool exact() const { return negative_.exact() && positive_.exact(); }
  [[nodiscard]] int64_t count() const { return negative_.count() + positive_.count(); }
  [[nodiscard]] int64_t sum() const { return positive_.sum() - negative_.sum(); }
  [[nodiscard]] int64_t min() const;  // 0 when empty
  [[nodiscard]] int64_t max() const;
  [[nodiscard]] double mean() const;
  // Sample standard deviation (n - 1); 0 for n <= 1.
  [[nodiscard]] double stddev() const;
  [[nodiscard]] std::optional<QuantileEstimate> Quantile(double q) const;
  // The order statistic of 1-based rank k, 1 <= k <= count.
  [[nodiscard]] QuantileEstimate OrderStatistic(int64_t k) const;

 private:
  Sketch negative_;  // of -value for value < 0
  Sketch positive_;
};

}  // namespace lockstep
