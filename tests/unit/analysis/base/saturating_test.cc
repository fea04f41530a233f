#include "analysis/base/saturating.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(AddStopping, AddsUpToTheLargestValueAndStopsThere) {
  EXPECT_EQ(AddStopping(int64_t{2}, int64_t{3}), 5);
  EXPECT_EQ(AddStopping(INT64_MAX - 1, int64_t{1}), INT64_MAX);
  EXPECT_EQ(AddStopping(INT64_MAX, int64_t{1}), INT64_MAX);
  EXPECT_EQ(AddStopping(INT64_MAX, INT64_MAX), INT64_MAX);
  constexpr uint128 kMost = ~uint128{0};
  EXPECT_TRUE(AddStopping(uint128{2}, uint128{3}) == 5);
  EXPECT_TRUE(AddStopping(kMost - 1, uint128{1}) == kMost);
  EXPECT_TRUE(AddStopping(kMost, kMost) == kMost);
}

}  // namespace
}  // namespace lockstep
