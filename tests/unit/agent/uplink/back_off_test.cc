#include "agent/uplink/back_off.h"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep {
namespace {

std::vector<int64_t> Delays(BackOff& back_off, int n) {
  std::vector<int64_t> delays;
  for (int i = 0; i < n; ++i) {
    delays.push_back(back_off.NextDelayNs());
  }
  return delays;
}

TEST(BackOff, DoublesUpToTheLimit) {
  BackOff back_off({.initial_ns = 100, .max_ns = 700}, [] { return 0.0; });
  EXPECT_EQ(Delays(back_off, 5), (std::vector<int64_t>{50, 100, 200, 350, 350}));
}

TEST(BackOff, JitterAddsLessThanHalf) {
  BackOff back_off({.initial_ns = 100, .max_ns = 400}, [] { return 0.5; });
  EXPECT_EQ(Delays(back_off, 4), (std::vector<int64_t>{75, 150, 300, 300}));
}

TEST(BackOff, StartsAnewAfterSuccess) {
  BackOff back_off({.initial_ns = 100, .max_ns = 400}, [] { return 0.0; });
  Delays(back_off, 3);
  back_off.Reset();
  EXPECT_EQ(back_off.NextDelayNs(), 50);
}

}  // namespace
}  // namespace lockstep
