#include "analysis/stats/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "analysis/stats/bucket_index.h"

namespace lockstep {
namespace {

using Counts = std::map<int16_t, int64_t>;

Counts CountsOf(const Histogram& histogram) {
  Counts out;
  histogram.ForEach([&out](int16_t index, int64_t times) { EXPECT_TRUE(out.emplace(index, times).second); });
  return out;
}

std::vector<int16_t> RandomIndices(uint64_t seed, size_t n, int lowest, int highest) {
  std::mt19937_64 random(seed);
  std::vector<int16_t> out(n);
  const auto width = static_cast<uint64_t>(highest - lowest + 1);
  for (int16_t& index : out) index = static_cast<int16_t>(lowest + static_cast<int>(random() % width));
  for (size_t i = 0; i < n; i += 7) out[i] = kZeroBucket;
  return out;
}

Histogram OneByOne(const std::vector<int16_t>& indices) {
  Histogram out;
  for (const int16_t index : indices) out.Add(index, 1);
  return out;
}

Histogram AtOnce(const std::vector<int16_t>& indices) {
  Histogram out;
  out.AddAll(indices);
  return out;
}

TEST(Histogram, CountsEveryBucketAsAMapDoes) {
  for (const auto& [lowest, highest] :
       {std::pair(kLowestBucket, kHighestBucket), std::pair<int16_t, int16_t>(-40, 25)}) {
    const std::vector<int16_t> indices = RandomIndices(1, 3'000, lowest, highest);
    Counts expected;
    for (const int16_t index : indices) ++expected[index];
    EXPECT_EQ(CountsOf(OneByOne(indices)), expected);
    EXPECT_EQ(CountsOf(AtOnce(indices)), expected);
    EXPECT_EQ(AtOnce(indices).size(), expected.size());
    EXPECT_EQ(AtOnce(indices).front(), expected.begin()->first);
    EXPECT_EQ(AtOnce(indices).back(), expected.rbegin()->first);
  }
}

TEST(Histogram, IsTheSameHoweverItsCountsCameTogether) {
  const std::vector<int16_t> all = RandomIndices(2, 2'000, -300, 300);
  const Histogram whole = OneByOne(all);
  EXPECT_EQ(AtOnce(all), whole);
  std::vector<Histogram> parts;
  for (size_t i = 0; i < all.size(); i += 250) {
    parts.push_back(AtOnce({all.begin() + static_cast<std::ptrdiff_t>(i),
                            all.begin() + static_cast<std::ptrdiff_t>(std::min(i + 250, all.size()))}));
  }
  Histogram forwards;
  for (const Histogram& part : parts) forwards.Merge(part);
  Histogram backwards;
  std::reverse(parts.begin(), parts.end());
  for (const Histogram& part : parts) backwards.Merge(part);
  EXPECT_EQ(forwards, whole);
  EXPECT_EQ(backwards, whole);
  EXPECT_NE(parts.front(), whole);
}

TEST(Histogram, HasPlacesForTheLowestTheHighestAndZero) {
  const std::vector<int16_t> indices = {kHighestBucket, kZeroBucket, kLowestBucket, kHighestBucket};
  const Histogram histogram = AtOnce(indices);
  EXPECT_EQ(CountsOf(histogram), (Counts{{kZeroBucket, 1}, {kLowestBucket, 1}, {kHighestBucket, 2}}));
  EXPECT_EQ(histogram.front(), kZeroBucket);
  EXPECT_EQ(histogram.back(), kHighestBucket);
  EXPECT_EQ(BucketIndex(1), kLowestBucket);
  EXPECT_EQ(BucketIndex(INT64_MAX), kHighestBucket);
}

TEST(Histogram, StopsCountingAtTheLargestCountInsteadOfWrapping) {
  Histogram histogram;
  histogram.Add(3, INT64_MAX - 1);
  histogram.AddAll(std::vector<int16_t>(5, 3));
  EXPECT_EQ(CountsOf(histogram), (Counts{{3, INT64_MAX}}));
  histogram.Add(3, INT64_MAX);
  EXPECT_EQ(CountsOf(histogram), (Counts{{3, INT64_MAX}}));
  histogram.Merge(histogram);
  EXPECT_EQ(CountsOf(histogram), (Counts{{3, INT64_MAX}}));
}

TEST(Histogram, MergedWithItselfCountsTwice) {
  Histogram histogram = AtOnce({1, 1, 400});
  histogram.Merge(histogram);
  EXPECT_EQ(CountsOf(histogram), (Counts{{1, 4}, {400, 2}}));
}

TEST(Histogram, OfNothingIsEmpty) {
  Histogram histogram;
  histogram.AddAll({});
  histogram.Merge(Histogram());
  EXPECT_TRUE(histogram.empty());
  EXPECT_EQ(histogram.size(), 0U);
  EXPECT_EQ(histogram, Histogram());
  histogram.Add(0, 1);
  EXPECT_FALSE(histogram.empty());
}

}  // namespace
}  // namespace lockstep
