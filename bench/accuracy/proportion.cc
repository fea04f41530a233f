#include "bench/accuracy/proportion.h"

#include "analysis/stats/incomplete_beta.h"

namespace lockstep {
namespace {

constexpr double kAlpha = 0.05;

// x with I_x(a, b) = p.
double BetaQuantile(double p, double a, double b) {
  double lo = 0;
  double hi = 1;
  for (int i = 0; i < 100; ++i) {
    const double mid = (lo + hi) / 2;
    (IncompleteBeta(a, b, mid) < p ? lo : hi) = mid;
  }
  return (lo + hi) / 2;
}

}  // namespace

Interval ClopperPearson(double hits, double trials) {
  if (trials <= 0) return {};
  return {hits <= 0 ? 0 : BetaQuantile(kAlpha / 2, hits, trials - hits + 1),
          hits >= trials ? 1 : BetaQuantile(1 - kAlpha / 2, hits + 1, trials - hits)};
}

}  // namespace lockstep
