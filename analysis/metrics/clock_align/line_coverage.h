// What samples between two knots say of a line through them, from where they lie.
#pragma once

#include <algorithm>

#include "analysis/metrics/clock_align/robust.h"

namespace lockstep {

// Weighted places of samples between two knots, as shares of the distance.
struct LineCoverage {
  double weight = 0;
  double sum = 0;
  double squares = 0;

  void Add(double share, double w) {
    weight += w;
    sum += w * share;
    squares += w * share * share;
  }
  // The variance of a line at the first (or second) of the knots, against that of the mean under the knot's hat: with
  // m and v the mean and variance of the distances from the knot, (1 + m^2 / v) / (1 + v / (1 - m)^2). Samples that are
  // spread evenly give 3; samples that lie together far from the knot give much more, as they say little of the rate.
  [[nodiscard]] double LineFactor(bool at_second) const {
    constexpr double kMost = 1e6;
    if (weight <= 0) return kMost;
    const double middle = sum / weight;
    const double mean = at_second ? 1 - middle : middle;
    const double variance = squares / weight - middle * middle;
    if (variance <= mean * mean / kMost) return kMost;
    return (1 + mean * mean / variance) / (1 + variance / Square(std::max(1 - mean, 1e-3)));
  }
};

}  // namespace lockstep
