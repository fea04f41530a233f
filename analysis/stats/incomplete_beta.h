// Tails of the binomial, also for real arguments. Pure; the same bits everywhere but for std::log, std::log1p,
// std::exp.
#pragma once

namespace lockstep {

// Regularised incomplete beta function I_x(a, b), a and b > 0, by its continued fraction (modified Lentz).
// P(Bin(n, p) >= k) = I_p(k, n - k + 1).
[[nodiscard]] double IncompleteBeta(double a, double b, double x);

}  // namespace lockstep
