#include "analysis/stats/order_statistic.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace lockstep {
namespace {

TEST(OrderStatistic, IsTheValueAtThatPlaceOfTheSortedOnes) {
  std::mt19937_64 random(5);
  std::vector<int64_t> values(101);
  for (int64_t& value : values) value = static_cast<int64_t>(random() % 40);
  std::vector<int64_t> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  for (size_t place = 0; place < values.size(); ++place) EXPECT_EQ(OrderStatistic(values, place), sorted[place]);
}

TEST(OrderStatistic, AMedianOfTwoMiddlesIsTheLowerTheUpperOrTheirMean) {
  const std::vector<double> values = {4, 1, 9, 2};
  EXPECT_EQ(LowerMedian(values), 2);
  EXPECT_EQ(UpperMedian(values), 4);
  EXPECT_EQ(Median(values), 3);
}

TEST(OrderStatistic, AMedianOfAnOddNumberIsTheMiddle) {
  const std::vector<double> values = {7, 1, 5};
  EXPECT_EQ(LowerMedian(values), 5);
  EXPECT_EQ(UpperMedian(values), 5);
  EXPECT_EQ(Median(values), 5);
}

TEST(OrderStatistic, AMedianOfNothingIsZero) {
  EXPECT_EQ(LowerMedian(std::vector<int64_t>()), 0);
  EXPECT_EQ(UpperMedian(std::vector<int64_t>()), 0);
  EXPECT_EQ(Median({}), 0);
}

}  // namespace
}  // namespace lockstep
