// Values with their counts are those that a map has, however they came together and whatever they are packed into.
#include "analysis/stats/value_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace lockstep {
namespace {

constexpr int64_t kWide = int64_t{1} << 40;  // the first value that a word has no room for,
constexpr int64_t kMany = int64_t{1} << 24;  // and the first count

using Reference = std::map<int64_t, int64_t>;

Reference ContentsOf(const ValueCounts& counts) {
  Reference out;
  int64_t last = -1;
  counts.ForEach([&](int64_t value, int64_t times) {
    EXPECT_GT(value, last);
    last = value;
    out[value] = times;
  });
  EXPECT_EQ(out.size(), counts.size());
  return out;
}

ValueCounts Of(const Reference& contents) {
  ValueCounts out;
  for (const auto& [value, times] : contents) out.Add(value, times);
  return out;
}

TEST(ValueCounts, EqualAMapWhateverWayTheyAreAdded) {
  std::mt19937_64 random(7);
  for (const int64_t range : {int64_t{3}, int64_t{400}, int64_t{1'000'000}, 4 * kWide}) {
    ValueCounts single;
    ValueCounts at_once;
    Reference want;
    for (int round = 0; round < 30; ++round) {
      std::vector<int64_t> values(1 + random() % ValueCounts::kMostAtOnce);
      for (int64_t& value : values) value = static_cast<int64_t>(random() % static_cast<uint64_t>(range));
      for (const int64_t value : values) single.Add(value, 1);
      at_once.AddAll(values);
      for (const int64_t value : values) ++want[value];
    }
    EXPECT_EQ(ContentsOf(single), want) << range;
    EXPECT_TRUE(single == at_once) << range;
  }
}

TEST(ValueCounts, MergedInAnyOrderAreEqual) {
  std::mt19937_64 random(8);
  for (const int64_t scale : {int64_t{1}, kWide / 500}) {
    std::vector<ValueCounts> parts;
    Reference want;
    for (int i = 0; i < 8; ++i) {
      Reference part;
      for (int k = 0; k < 100; ++k) {
        part[static_cast<int64_t>(random() % 1000) * scale] += static_cast<int64_t>(random() % (kMany / 3));
      }
      for (const auto& [value, times] : part) want[value] += times;
      parts.push_back(Of(part));
    }
    ValueCounts forward;
    for (const ValueCounts& part : parts) forward.Merge(part);
    std::shuffle(parts.begin(), parts.end(), random);
    ValueCounts other;
    for (const ValueCounts& part : parts) other.Merge(part);
    EXPECT_EQ(ContentsOf(forward), want);
    EXPECT_TRUE(forward == other);
    EXPECT_TRUE(forward == Of(want));
  }
}

TEST(ValueCounts, WhatHasNoRoomInAWordIsCountedAllTheSame) {
  for (const bool at_once : {false, true}) {
    for (const Reference& start : {Reference{{5, kMany - 2}, {9, 1}}, Reference{{kWide - 1, kMany - 2}}}) {
      ValueCounts counts = Of(start);
      Reference want = start;
      for (int i = 0; i < 4; ++i) {  // over the largest count that fits
        const int64_t value = start.begin()->first;
        if (at_once) {
          counts.AddAll(std::vector<int64_t>{value, 7});
        } else {
          counts.Add(value, 1);
          counts.Add(7, 1);
        }
        ++want[value];
        ++want[7];
        EXPECT_EQ(ContentsOf(counts), want);
        EXPECT_TRUE(counts == Of(want)) << "what it is packed into goes by the contents";
      }
    }
  }
  ValueCounts counts;
  counts.Add(3, 1);
  counts.AddAll(std::vector<int64_t>{kWide, kWide - 1, kWide, 3, INT64_MAX});
  EXPECT_EQ(ContentsOf(counts), (Reference{{3, 2}, {kWide - 1, 1}, {kWide, 2}, {INT64_MAX, 1}}));
  counts.Add(3, INT64_MAX);
  EXPECT_EQ(ContentsOf(counts).at(3), INT64_MAX) << "counts stop";
}

TEST(ValueCounts, OfSortedAreThoseOfItsValues) {
  EXPECT_TRUE(ValueCounts::OfSorted({}).empty());
  const std::vector<int64_t> values = {0, 0, 4, 5, 5, 5, kWide};
  EXPECT_EQ(ContentsOf(ValueCounts::OfSorted(values)), (Reference{{0, 2}, {4, 1}, {5, 3}, {kWide, 1}}));
}

TEST(ValueCounts, AValueOfRankIsTheOrderStatistic) {
  for (const int64_t scale : {int64_t{1}, kWide}) {
    std::vector<int64_t> values;
    std::mt19937_64 random(9);
    for (int i = 0; i < 300; ++i) values.push_back(static_cast<int64_t>(random() % 50) * scale);
    std::sort(values.begin(), values.end());
    const ValueCounts counts = ValueCounts::OfSorted(values);
    for (size_t k = 1; k <= values.size(); ++k) {
      ASSERT_EQ(counts.ValueOfRank(static_cast<int64_t>(k)), values[k - 1]) << k;
    }
  }
}

}  // namespace
}  // namespace lockstep
