// Which of many tests count as found, so that of those found at most a share q is wrong on average (Benjamini and
// Hochberg, 1995; holds for independent and positively dependent tests). Pure; the order of tests makes no difference.
#pragma once

#include <span>
#include <vector>

namespace lockstep::compare {

inline constexpr double kFalseDiscoveryShare = 0.05;

// One flag a p value. A NaN counts as 1.
[[nodiscard]] std::vector<bool> FoundAmong(std::span<const double> p_values, double q = kFalseDiscoveryShare);

}  // namespace lockstep::compare
