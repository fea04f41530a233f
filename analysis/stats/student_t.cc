#include "analysis/stats/student_t.h"

#include <algorithm>
#include <cmath>

#include "analysis/stats/incomplete_beta.h"

namespace lockstep {
namespace {

double ClampedDegrees(double df) {
  return df >= kFewestDegrees ? std::min(df, kMostDegrees) : kFewestDegrees;  // a NaN becomes the fewest
}

}  // namespace

double TwoSidedP(double t, double df) {
  if (std::isnan(t)) return 1;
  const double degrees = ClampedDegrees(df);
  const double square = t * t;
  if (std::isinf(square)) return 0;
  return std::clamp(IncompleteBeta(degrees / 2, 0.5, degrees / (degrees + square)), 0.0, 1.0);
}

double QuantileOfT(double probability, double df) {
  const double both_tails = 2 * (1 - std::clamp(probability, 0.5, 0.9999));
  double low = 0;
  double high = 2;
  while (TwoSidedP(high, df) > both_tails) high *= 2;
  while (high - low > 1e-9 * high) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    (TwoSidedP(middle, df) > both_tails ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace lockstep
