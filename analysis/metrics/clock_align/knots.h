// Piecewise linear functions of time on common knots, and their robust least squares.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "analysis/metrics/clock_align/robust.h"

namespace lockstep {

class Knots {
 public:
  // Ascending, at least two.
  explicit Knots(std::vector<double> times) : times_(std::move(times)) {}

  struct Place {
    size_t knot = 0;   // the one at or before the time, never the last
    double share = 0;  // of the next one; outside the knots the outermost lines go on
  };
  [[nodiscard]] Place Locate(double t) const;
  [[nodiscard]] double At(const std::vector<double>& values, double t) const;
  [[nodiscard]] size_t size() const { return times_.size(); }
  [[nodiscard]] double time(size_t knot) const { return times_[knot]; }
  [[nodiscard]] double width() const { return times_[1] - times_[0]; }

 private:
  std::vector<double> times_;
};

struct WeightedSample {
  double t = 0;
  double y = 0;
  double weight = 1;  // 1 / variance
};

// Values at the knots that fit the samples best. `bend_sd`: how much (ns) a knot may lie off the line through its
// neighbours. Where there are no samples the lines go on.
[[nodiscard]] std::vector<double> FitKnots(const Knots& knots, const std::vector<WeightedSample>& samples,
                                           double bend_sd);

// Medians of neighbouring samples (ascending in t), at least `size` each where there are that many.
[[nodiscard]] std::vector<WeightedSample> MedianBins(const std::vector<Sample>& samples, size_t size);

}  // namespace lockstep
