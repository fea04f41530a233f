#include "analysis/base/rank_list.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lockstep {
namespace {

std::vector<int32_t> UpTo(int32_t count) {
  std::vector<int32_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(FoldedNumbers, ThreeOrMoreInARowAreFolded) {
  EXPECT_EQ(FoldedNumbers(UpTo(8)), "0-7");
  EXPECT_EQ(FoldedNumbers({3}), "3");
  EXPECT_EQ(FoldedNumbers({3, 4}), "3 and 4");
  EXPECT_EQ(FoldedNumbers({3, 4, 5}), "3-5");
  EXPECT_EQ(FoldedNumbers({0, 2, 5, 6, 7, 9}), "0, 2, 5-7 and 9");
}

TEST(FoldedNumbers, OrderAndRepetitionDoNotMatter) { EXPECT_EQ(FoldedNumbers({5, 1, 3, 2, 5, 1}), "1-3 and 5"); }

TEST(FoldedNumbers, WhatIsBeyondTheFirstPartsIsCounted) {
  EXPECT_EQ(FoldedNumbers({0, 1, 2, 3, 8, 10, 12, 14}, 2), "0-3, 8 and 3 more");
  EXPECT_EQ(FoldedNumbers({1, 3, 5, 7}, 4), "1, 3, 5 and 7");
  EXPECT_EQ(FoldedNumbers({1, 3}, 1), "1 and 1 more");
  EXPECT_EQ(FoldedNumbers(UpTo(100'000), 1), "0-99999");
}

TEST(FoldedNumbers, NoNumbersAreNoText) { EXPECT_EQ(FoldedNumbers({}), ""); }

TEST(FoldedNumbers, TheLargestNumberEndsAList) {
  EXPECT_EQ(FoldedNumbers({INT32_MAX, INT32_MIN}), "-2147483648 and 2147483647");
}

TEST(FoldedRanks, HasItsNounInTheRightNumber) {
  EXPECT_EQ(FoldedRanks({5}), "rank 5");
  EXPECT_EQ(FoldedRanks({5, 5}), "rank 5");
  EXPECT_EQ(FoldedRanks(UpTo(8)), "ranks 0-7");
  EXPECT_EQ(FoldedRanks({0, 1, 2, 3, 8, 10, 12}, 2), "ranks 0-3, 8 and 2 more");
}

}  // namespace
}  // namespace lockstep
