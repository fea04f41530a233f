#include "analysis/model/common_range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace lockstep {
namespace {

TEST(CommonRange, ANumberIsOneSignHoweverLongItIs) {
  EXPECT_EQ(WithoutNumbers("layer 3"), "layer #");
  EXPECT_EQ(WithoutNumbers("layer 12"), "layer #");
  EXPECT_EQ(WithoutNumbers("7a8.bs=128,seq=16"), "#a#.bs=#,seq=#");
  EXPECT_EQ(WithoutNumbers(WithoutNumbers("7a8")), "#a#") << "a second time changes nothing";
  EXPECT_EQ(WithoutNumbers(""), "");
  EXPECT_EQ(WithoutNumbers(std::string(kMostReadOfRange, 'x') + "y").size(), kMostReadOfRange);
}

TEST(CommonRange, OfNoLaunchesAndOfLaunchesInNoRangeIsNone) {
  CommonRange range;
  EXPECT_EQ(range.Get(), kNoId);
  range.Add(kNoId, 10);
  EXPECT_EQ(range.Get(), kNoId);
}

// Counted naively: of up to four ranges, in any order and in lots of any size.
TEST(CommonRange, IsTheOneThatHoldsNineteenOfTwentyLaunches) {
  std::mt19937 random(20261130);
  int common = 0;
  for (int i = 0; i < 2'000; ++i) {
    const uint32_t ranges = 1 + random() % 4;
    std::vector<std::pair<uint32_t, int64_t>> lots = {{0, 1 + static_cast<int64_t>(random() % 400)}};
    for (uint32_t range = 1; range < ranges; ++range) lots.emplace_back(range, 1 + random() % 8);
    if (random() % 2 == 0) lots.emplace_back(kNoId, 1 + random() % 8);
    std::shuffle(lots.begin(), lots.end(), random);
    CommonRange counted;
    std::map<uint32_t, int64_t> launches;
    int64_t all = 0;
    for (const auto& [range, count] : lots) {
      counted.Add(range, count);
      launches[range] += count;
      all += count;
    }
    uint32_t expected = kNoId;
    for (const auto& [range, count] : launches) {
      if (range != kNoId && 20 * count >= 19 * all) expected = range;
    }
    EXPECT_EQ(counted.Get(), expected);
    common += expected != kNoId ? 1 : 0;
  }
  EXPECT_GT(common, 200);
  EXPECT_LT(common, 1'800);
}

TEST(CommonRange, OfAKernelThatIsEverywhereIsNone) {
  CommonRange range;
  for (uint32_t i = 0; i < 100; ++i) range.Add(i);
  EXPECT_EQ(range.Get(), kNoId);
}

}  // namespace
}  // namespace lockstep
