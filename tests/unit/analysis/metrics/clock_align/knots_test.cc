#include "analysis/metrics/clock_align/knots.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

TEST(Knots, LinesGoOnBeyondTheOutermost) {
  const Knots knots({0, 10, 20});
  const std::vector<double> values{0, 100, 50};
  EXPECT_DOUBLE_EQ(knots.At(values, 5), 50);
  EXPECT_DOUBLE_EQ(knots.At(values, 15), 75);
  EXPECT_DOUBLE_EQ(knots.At(values, -1), -10);
  EXPECT_DOUBLE_EQ(knots.At(values, 22), 40);
}

TEST(FitKnots, GivesBackAPiecewiseLine) {
  const Knots knots({0, 1e9, 2e9, 3e9});
  const std::vector<double> truth{1'000, 3'000, -500, 0};
  std::vector<WeightedSample> samples;
  for (double t = 0; t <= 3e9; t += 1e7) samples.push_back({t, knots.At(truth, t), 1});
  const std::vector<double> fit = FitKnots(knots, samples, 1e6);
  for (size_t j = 0; j < truth.size(); ++j) EXPECT_NEAR(fit[j], truth[j], 1) << j;
}

TEST(FitKnots, WithoutSamplesTheLineGoesOn) {
  const Knots knots({0, 1e9, 2e9, 3e9});
  std::vector<WeightedSample> samples;
  for (double t = 0; t <= 1e9; t += 1e7) samples.push_back({t, 1e-6 * t, 1});
  const std::vector<double> fit = FitKnots(knots, samples, 100);
  EXPECT_NEAR(fit[2], 2'000, 20);
  EXPECT_NEAR(fit[3], 3'000, 40);
}

TEST(FitKnots, AShortRunHasNoSlope) {
  const Knots knots({0, 1e6});  // 1 ms
  std::vector<WeightedSample> samples;
  for (int i = 0; i <= 10; ++i) samples.push_back({i * 1e5, i % 2 == 0 ? 3'000.0 + 300 * i : 3'000.0, 1e-6});
  const std::vector<double> fit = FitKnots(knots, samples, 1'000);
  EXPECT_LT(std::abs(fit[1] - fit[0]), 100) << "a clock does not drift by 1 us in 1 ms";
}

}  // namespace
}  // namespace lockstep
