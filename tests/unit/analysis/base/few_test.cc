#include "analysis/base/few.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace lockstep {
namespace {

TEST(FewTest, AnEmptyOneTakesAPointer) { EXPECT_EQ(sizeof(Few<int64_t>), sizeof(void*)); }

TEST(FewTest, EmptyOnesAreEqualHoweverTheyCameToBe) {
  Few<int> reserved;
  reserved.reserve(8);
  Few<int> erased = {1, 2};
  erased.EraseIf([](int) { return true; });
  Few<int> moved_from = {1};
  const Few<int> taken = std::move(moved_from);
  for (const Few<int>& empty : {Few<int>(), Few<int>(std::vector<int>()), reserved, erased}) {
    EXPECT_TRUE(empty.empty());
    EXPECT_EQ(empty.begin(), empty.end());
    EXPECT_EQ(empty.rbegin(), empty.rend());
    EXPECT_EQ(empty, Few<int>());
    EXPECT_FALSE(empty == taken);
    EXPECT_FALSE(taken == empty);
  }
}

TEST(FewTest, ACopyIsItsOwn) {
  Few<int> a = {1, 2, 3};
  Few<int> b = a;
  b[0] = 9;
  EXPECT_EQ(a, (Few<int>{1, 2, 3}));
  b = a;
  EXPECT_EQ(b, a);
  const Few<int>& same = b;
  b = same;
  EXPECT_EQ(b, a);
  b.clear();
  EXPECT_EQ(a.size(), 3U);
}

TEST(FewTest, DoesWhatAVectorDoes) {
  std::mt19937_64 random(1);
  Few<int> few;
  std::vector<int> vector;
  for (int i = 0; i < 20'000; ++i) {
    const auto value = static_cast<int>(random() % 100);
    switch (random() % 8) {
      case 0:
        few.EraseIf([value](int x) { return x < value; });
        std::erase_if(vector, [value](int x) { return x < value; });
        break;
      case 1:
        if (value < 5) few.clear();
        if (value < 5) vector.clear();
        break;
      case 2:
        std::reverse(few.begin(), few.end());
        std::reverse(vector.begin(), vector.end());
        break;
      case 3:
        few = Few<int>(vector);
        break;
      default:
        few.push_back(value);
        vector.emplace_back(value);
        EXPECT_EQ(few[0], vector[0]);
        EXPECT_EQ(few.back(), value);
    }
    ASSERT_TRUE(std::equal(few.begin(), few.end(), vector.begin(), vector.end()));
    ASSERT_TRUE(std::equal(few.rbegin(), few.rend(), vector.rbegin(), vector.rend()));
  }
}

}  // namespace
}  // namespace lockstep
