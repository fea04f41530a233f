#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "analysis/stats/sketch.h"

namespace lockstep {
namespace {

// The definition, in long double: v in (b^i, b^(i+1)], over seconds.
int16_t IndexByLogarithm(int64_t value) {
  const double seconds = static_cast<double>(value) * 1e-9;
  return static_cast<int16_t>(std::ceil(std::log2(static_cast<long double>(seconds)) * 64.0L) - 1);
}

// Log-uniform, so that all magnitudes occur.
int64_t RandomMagnitude(std::mt19937_64& random) {
  const int bits = static_cast<int>(random() % 63) + 1;
  return static_cast<int64_t>(random() >> (64 - bits)) + 1;
}

TEST(BucketIndex, AgreesWithTheLogarithmForAllSmallValues) {
  for (int64_t v = 1; v <= 200'000; ++v) ASSERT_EQ(BucketIndex(v), IndexByLogarithm(v)) << v;
}

TEST(BucketIndex, AgreesWithTheLogarithmForLargeValues) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300'000; ++i) {
    const int64_t v = RandomMagnitude(random);
    ASSERT_EQ(BucketIndex(v), IndexByLogarithm(v)) << v;
  }
}

TEST(BucketIndex, HasTheKnownPlacesOfRoundTimes) {
  EXPECT_EQ(BucketIndex(1), -1914);
  EXPECT_EQ(BucketIndex(1'000), -1276);
  EXPECT_EQ(BucketIndex(1'000'000'000), -1);  // one second is the upper, inclusive bound of its bucket
  EXPECT_EQ(BucketIndex(1'000'000'001), 0);
  EXPECT_EQ(BucketIndex(3'600'000'000'000), 756);
}

TEST(BucketIndex, GivesZeroABucketOfItsOwn) {
  EXPECT_EQ(BucketIndex(0), kZeroBucket);
  EXPECT_EQ(BoundsOf(kZeroBucket).lower, 0);
  EXPECT_EQ(BoundsOf(kZeroBucket).upper, 0);
}

TEST(BucketBounds, HoldEveryValueOfTheBucket) {
  std::mt19937_64 random(2);
  for (int64_t i = 1; i <= 300'000; ++i) {
    const int64_t v = i <= 200'000 ? i : RandomMagnitude(random);
    const BucketBounds bounds = BoundsOf(BucketIndex(v));
    ASSERT_LT(bounds.lower, v);
    ASSERT_LE(v, bounds.upper);
  }
}

TEST(BucketBounds, EdgesBelongToTheBucketAndTheirNeighboursDoNot) {
  for (int i = BucketIndex(1); i <= BucketIndex(INT64_MAX); ++i) {
    const auto index = static_cast<int16_t>(i);
    const BucketBounds bounds = BoundsOf(index);
    if (bounds.lower == bounds.upper) continue;
    ASSERT_EQ(BucketIndex(bounds.lower + 1), index);
    ASSERT_EQ(BucketIndex(bounds.upper), index);
    if (bounds.upper < INT64_MAX) {
      ASSERT_GT(BucketIndex(bounds.upper + 1), index);
    }
  }
}

TEST(BucketBounds, TileTheIntegersWithoutHoles) {
  int64_t previous = 0;
  for (int i = BucketIndex(1); i <= BucketIndex(INT64_MAX); ++i) {
    const BucketBounds bounds = BoundsOf(static_cast<int16_t>(i));
    ASSERT_EQ(bounds.lower, previous);
    ASSERT_GE(bounds.upper, bounds.lower);
    previous = bounds.upper;
  }
  EXPECT_EQ(previous, INT64_MAX);
}

TEST(BucketBounds, AreEmptyForIndicesThatNoValueHas) {
  for (const int16_t index : {int16_t{-32767}, int16_t{-2000}, int16_t{-1900}, int16_t{3000}, int16_t{32767}}) {
    const BucketBounds bounds = BoundsOf(index);
    EXPECT_EQ(bounds.lower, bounds.upper) << index;
  }
}

}  // namespace
}  // namespace lockstep
