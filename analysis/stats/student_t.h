// Student's t distribution with real degrees of freedom, through the regularised incomplete beta function:
// P(|T| > t) = I_x(df / 2, 1 / 2) with x = df / (df + t^2) (Abramowitz and Stegun 26.7.1). Pure, thread safe.
// Degrees of freedom are clamped to [kFewestDegrees, kMostDegrees]; the latter is the normal distribution to four
// digits.
#pragma once

namespace lockstep {

inline constexpr double kFewestDegrees = 1;
inline constexpr double kMostDegrees = 10'000;

// The chance of a value at least as far from 0 as `t`; 1 for a NaN, 0 for an infinite one.
[[nodiscard]] double TwoSidedP(double t, double df);

// The value that T stays below with this probability; 0.5 <= probability <= 0.9999 (clamped). To 1e-9, by bisection.
[[nodiscard]] double QuantileOfT(double probability, double df);

}  // namespace lockstep
