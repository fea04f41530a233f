#include "platform/outage.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(Outage, IsToldWhenItBeginsAndOnceAMinute) {
  Outage outage;
  int64_t told = 0;
  for (int64_t second = 0; second < 180; ++second) {
    told += outage.Met(second * kSecond) ? 1 : 0;
  }
  EXPECT_EQ(told, 3);
}

TEST(Outage, ItsEndIsToldOnceWithItsLength) {
  Outage outage;
  EXPECT_EQ(outage.Over(5 * kSecond), std::nullopt);
  outage.Met(10 * kSecond);
  outage.Met(20 * kSecond);
  EXPECT_EQ(outage.Over(25 * kSecond), 15 * kSecond);
  EXPECT_EQ(outage.Over(26 * kSecond), std::nullopt);
  EXPECT_TRUE(outage.Met(27 * kSecond)) << "a new one";
}

}  // namespace
}  // namespace lockstep
