#include "analysis/stats/signed_sketch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace lockstep {
namespace {

std::vector<int64_t> SomeValues(size_t count, int64_t reach) {
  std::mt19937 random(7);
  std::vector<int64_t> out;
  for (size_t i = 0; i < count; ++i) out.push_back(std::uniform_int_distribution<int64_t>(-reach, reach)(random));
  return out;
}

SignedSketch SignedSketchOf(const std::vector<int64_t>& values) {
  SignedSketch sketch;
  for (const int64_t v : values) sketch.Add(v);
  return sketch;
}

TEST(SignedSketch, OrderStatisticsRunFromTheMostNegativeToTheLargest) {
  std::vector<int64_t> values = SomeValues(500, 300);
  const SignedSketch sketch = SignedSketchOf(values);
  std::sort(values.begin(), values.end());
  for (size_t k = 1; k <= values.size(); ++k) {
    ASSERT_EQ(sketch.OrderStatistic(static_cast<int64_t>(k)).value, values[k - 1]);
  }
  EXPECT_EQ(sketch.min(), values.front());
  EXPECT_EQ(sketch.max(), values.back());
}

TEST(SignedSketch, BoundsOfAHistogramHoldTheTrueValue) {
  std::vector<int64_t> values = SomeValues(6'000, 1'000'000'000);
  const SignedSketch sketch = SignedSketchOf(values);
  ASSERT_FALSE(sketch.exact());
  std::sort(values.begin(), values.end());
  for (const double q : {0.5, 0.9, 0.95, 0.99, 0.999}) {
    const auto estimate = sketch.Quantile(q);
    const int64_t truth = values[static_cast<size_t>(std::ceil(q * 6'000)) - 1];
    EXPECT_LE(estimate->lower, truth);
    EXPECT_GE(estimate->upper, truth);
  }
}

TEST(SignedSketch, MeanAndDeviationEqualTheNaiveOnes) {
  const std::vector<int64_t> values = SomeValues(400, 1'000);
  double sum = 0;
  for (const int64_t v : values) sum += static_cast<double>(v);
  const double mean = sum / 400;
  double squares = 0;
  for (const int64_t v : values) squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
  const SignedSketch sketch = SignedSketchOf(values);
  EXPECT_NEAR(sketch.mean(), mean, 1e-9);
  EXPECT_NEAR(sketch.stddev(), std::sqrt(squares / 399), 1e-6);
}

TEST(SignedSketch, MergingEqualsAddingAll) {
  const std::vector<int64_t> values = SomeValues(300, 90);
  SignedSketch merged;
  for (size_t i = 0; i < values.size(); i += 50) {
    merged.Merge(
        SignedSketchOf({values.begin() + static_cast<int64_t>(i), values.begin() + static_cast<int64_t>(i) + 50}));
  }
  const SignedSketch whole = SignedSketchOf(values);
  EXPECT_EQ(merged.count(), whole.count());
  EXPECT_EQ(merged.sum(), whole.sum());
  for (int64_t k = 1; k <= 300; ++k) EXPECT_EQ(merged.OrderStatistic(k).value, whole.OrderStatistic(k).value);
}

TEST(SignedSketch, APercentileNeedsEnoughValues) {
  EXPECT_FALSE(SignedSketchOf(SomeValues(9, 5)).Quantile(0.9).has_value());
  EXPECT_TRUE(SignedSketchOf(SomeValues(10, 5)).Quantile(0.9).has_value());
}

TEST(SignedSketch, ManyAtOnceGiveWhatOneByOneDoes) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < 3'000; ++i) values.push_back(i * 7'919 % 6'007 - 3'000);
  SignedSketch one_by_one;
  for (const int64_t value : values) one_by_one.Add(value);
  SignedSketch at_once;
  at_once.AddAll(values);
  EXPECT_EQ(at_once.count(), one_by_one.count());
  EXPECT_EQ(at_once.sum(), one_by_one.sum());
  EXPECT_EQ(at_once.min(), one_by_one.min());
  EXPECT_EQ(at_once.max(), one_by_one.max());
  for (const int64_t rank : {1, 750, 1'500, 2'250, 3'000}) {
    EXPECT_EQ(at_once.OrderStatistic(rank).value, one_by_one.OrderStatistic(rank).value);
  }
}

}  // namespace
}  // namespace lockstep
