#include "analysis/base/disjoint_sets.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(DisjointSets, ASetIsNamedByItsSmallestNumber) {
  DisjointSets sets(6);
  sets.Join(5, 3);
  sets.Join(3, 4);
  sets.Join(2, 0);
  EXPECT_EQ(sets.Find(4), 3U);
  EXPECT_EQ(sets.Find(5), 3U);
  EXPECT_EQ(sets.Find(2), 0U);
  EXPECT_EQ(sets.Find(1), 1U);
  sets.Join(5, 2);
  EXPECT_EQ(sets.Find(4), 0U);
}

}  // namespace
}  // namespace lockstep
