#include "analysis/stats/student_t.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockstep {
namespace {

// P(|T| > t) by Simpson's rule over the density, with t = tan(u) so that the range is finite.
double TailByIntegration(double t, double df) {
  constexpr int kParts = 20'000;
  const double constant = std::exp(std::lgamma((df + 1) / 2) - std::lgamma(df / 2)) / std::sqrt(df * M_PI);
  const auto density = [&](double u) {
    const double x = std::tan(u);
    const double cosine = std::cos(u);
    return constant * std::pow(1 + x * x / df, -(df + 1) / 2) / (cosine * cosine);
  };
  const double width = std::atan(t) / kParts;
  double sum = density(0) + density(kParts * width);
  for (int i = 1; i < kParts; ++i) sum += (i % 2 == 1 ? 4 : 2) * density(i * width);
  return 1 - 2 * sum * width / 3;
}

TEST(StudentT, ATailIsTheIntegralOfTheDensity) {
  for (const double df : {1.0, 2.5, 4.0, 17.3, 150.0}) {
    for (const double t : {0.1, 0.7, 2.0, 5.0}) {
      EXPECT_NEAR(TwoSidedP(t, df), TailByIntegration(t, df), 1e-9) << t << " " << df;
      EXPECT_EQ(TwoSidedP(t, df), TwoSidedP(-t, df));
    }
  }
}

TEST(StudentT, QuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(QuantileOfT(0.975, 1), 12.706, 5e-4);
  EXPECT_NEAR(QuantileOfT(0.975, 4), 2.776, 5e-4);
  EXPECT_NEAR(QuantileOfT(0.975, 30), 2.042, 5e-4);
  EXPECT_NEAR(QuantileOfT(0.8, 4), 0.941, 5e-4);
  EXPECT_NEAR(QuantileOfT(0.975, kMostDegrees), 1.960, 5e-4);
  EXPECT_NEAR(QuantileOfT(0.975, std::numeric_limits<double>::infinity()), 1.960, 5e-4);
}

TEST(StudentT, AQuantileIsTheInverseOfTheTail) {
  for (const double df : {1.0, 3.0, 8.7, 400.0}) {
    for (const double probability : {0.6, 0.8, 0.975, 0.999}) {
      EXPECT_NEAR(TwoSidedP(QuantileOfT(probability, df), df), 2 * (1 - probability), 1e-8);
    }
  }
}

TEST(StudentT, AbsurdArgumentsHaveAnAnswer) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(TwoSidedP(nan, 5), 1);
  EXPECT_EQ(TwoSidedP(infinity, 5), 0);
  EXPECT_EQ(TwoSidedP(1e300, 5), 0);
  EXPECT_EQ(TwoSidedP(2, nan), TwoSidedP(2, kFewestDegrees));
  EXPECT_EQ(TwoSidedP(2, -7), TwoSidedP(2, kFewestDegrees));
  EXPECT_EQ(QuantileOfT(1, 4), QuantileOfT(0.9999, 4));
  EXPECT_NEAR(QuantileOfT(0.1, 4), 0, 1e-6);
}

}  // namespace
}  // namespace lockstep
