#include "analysis/base/natural_order.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep {
namespace {

TEST(NaturalPathLess, NumbersCompareByValue) {
  EXPECT_TRUE(NaturalPathLess("rank2", "rank10"));
  EXPECT_FALSE(NaturalPathLess("rank10", "rank2"));
  EXPECT_TRUE(NaturalPathLess("r99999999999999999999998", "r99999999999999999999999"));
}

TEST(NaturalPathLess, IsATotalOrder) {
  std::vector<std::string> names = {"a1", "a01", "a001", "a", "", "a1b", "a1b2", "1", "01", "\xff", "a10", "A2", "a-1"};
  for (const std::string& x : names) {
    EXPECT_FALSE(NaturalPathLess(x, x));
    for (const std::string& y : names) {
      EXPECT_TRUE(x == y || NaturalPathLess(x, y) != NaturalPathLess(y, x)) << x << " " << y;
      for (const std::string& z : names) {
        EXPECT_FALSE(NaturalPathLess(x, y) && NaturalPathLess(y, z) && !NaturalPathLess(x, z))
            << x << " " << y << " " << z;
      }
    }
  }
}

}  // namespace
}  // namespace lockstep
