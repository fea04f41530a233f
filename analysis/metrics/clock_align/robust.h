// Robust statistics of small samples and of time series, as clock alignment needs them. Pure; all values in ns.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/stats/order_statistic.h"

namespace lockstep {

[[nodiscard]] constexpr double Square(double x) { return x * x; }

struct Sample {
  double t = 0;
  double y = 0;
};

// 1.4826 times the median distance from `centre`: the standard deviation, were the values normal.
[[nodiscard]] double RobustScale(const std::vector<double>& values, double centre);
inline constexpr double kMedianToMean = 1.2533;  // standard error of a median against that of a mean
// Weight of a residual in Huber's least squares: 1 within 1.5 scales, falling as 1/|r| beyond; 0 beyond 8 scales.
[[nodiscard]] double HuberWeight(double residual, double scale);

struct Jump {
  double t = 0;     // between the last sample before and the first one after
  double size = 0;  // after minus before
};

struct JumpRule {
  double min_size = 0;     // smaller ones are not looked for
  double min_sigmas = 8;   // of the noise of a single sample
  size_t min_samples = 8;  // on either side
};

// Jumps of a series that otherwise drifts slowly, ascending in time, at most four. `series` must be ascending in t.
[[nodiscard]] std::vector<Jump> FindJumps(std::vector<Sample> series, const JumpRule& rule);

}  // namespace lockstep
