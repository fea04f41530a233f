// Standard deviations that values which are no noise do not raise. Pure. No value may be NaN.
#pragma once

#include <vector>

namespace lockstep {

// 1.4826 times the median of the absolute deviations from the median: of normal noise its standard deviation, however
// large up to half of the values are. 0 for an empty list.
[[nodiscard]] double RobustDeviation(const std::vector<double>& values);

// The same from the quarter of the values that lie closest together, wherever that is: up to three quarters of them may
// be no noise, on either side of it. It assumes normal noise, of which the narrowest quarter is 0.637 standard
// deviations wide among many values, and less among few.
[[nodiscard]] double DeviationOfMost(const std::vector<double>& values);

// The lower quartile, and the standard deviation of noise by the values nearest to it: 2.506 times the lower quartile
// of the distances from it. Up to nearly three quarters of the values may be no noise, if they lie above it.
struct LowLevel {
  double level = 0;
  double deviation = 0;
};
[[nodiscard]] LowLevel LowLevelOf(const std::vector<double>& values);

}  // namespace lockstep
