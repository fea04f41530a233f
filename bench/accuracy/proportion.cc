#include "bench/accuracy/proportion.h"

#include <cmath>

namespace lockstep {
namespace {

constexpr double kAlpha = 0.05;

// The continued fraction of I_x(a, b), converging fast for x < (a + 1) / (a + b + 2).
double BetaFraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  constexpr int kMaxTerms = 500;
  const auto away_from_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double f = d;
  for (int m = 1; m <= kMaxTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    f *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    f *= d * c;
    if (std::abs(d * c - 1) < 1e-14) break;
  }
  return f;
}

// x with I_x(a, b) = p.
double BetaQuantile(double p, double a, double b) {
  double lo = 0;
  double hi = 1;
  for (int i = 0; i < 100; ++i) {
    const double mid = (lo + hi) / 2;
    (IncompleteBeta(mid, a, b) < p ? lo : hi) = mid;
  }
  return (lo + hi) / 2;
}

}  // namespace

double IncompleteBeta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(x, a, b) / a;
  return 1 - front * BetaFraction(1 - x, b, a) / b;
}

Interval ClopperPearson(int64_t hits, int64_t trials) {
  if (trials <= 0) return {};
  const auto k = static_cast<double>(hits);
  const auto n = static_cast<double>(trials);
  return {hits == 0 ? 0 : BetaQuantile(kAlpha / 2, k, n - k + 1),
          hits == trials ? 1 : BetaQuantile(1 - kAlpha / 2, k + 1, n - k)};
}

}  // namespace lockstep
