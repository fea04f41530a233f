// The offset between two clocks from the ends of two lanes: told where the lanes have no second one, and only there.
#include "analysis/metrics/match/lanes/lane_shift.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

constexpr int64_t kOffsetNs = 3'000'000;
constexpr int64_t kPeriodNs = 150'000;

// Rows at irregular distances, `even` ones a period apart, and irregular ones again: a batch of prompts before and
// after a stretch of decoding. As two ranks of one communicator record them.
std::pair<std::vector<LaneEvent>, std::vector<LaneEvent>> Lanes(int irregular, int even, unsigned seed) {
  std::mt19937 random(seed);
  std::exponential_distribution<double> late(1 / 1'000.0);
  std::uniform_int_distribution<int64_t> gap(300'000, 900'000);
  std::pair<std::vector<LaneEvent>, std::vector<LaneEvent>> out;
  int64_t t = 1'000'000'000;
  for (int i = 0; i < 2 * irregular + even; ++i) {
    t += i < irregular || i >= irregular + even ? gap(random) : kPeriodNs;
    const auto a = t + static_cast<int64_t>(late(random));
    const auto b = t - kOffsetNs + static_cast<int64_t>(late(random));
    out.first.push_back({a - 40'000, a, 0});
    out.second.push_back({b - 40'000, b, 0});
  }
  return out;
}

class LaneShiftOf : public testing::TestWithParam<unsigned> {};

// From within the even stretch a walk may begin a period off. It comes to the true offset where that ends.
TEST_P(LaneShiftOf, AWalkThatMustJumpOntoTheOffsetSpeaksForNoOtherOne) {
  const auto [a, b] = Lanes(200, 60, GetParam());
  const std::optional<LaneShift> shift = FindLaneShift(a, b, {0, 50'000'000, 32});
  ASSERT_TRUE(shift.has_value());
  EXPECT_TRUE(shift->accepted);
  EXPECT_EQ(shift->jumps, 0);
  for (const OffsetKnot& knot : shift->knots) EXPECT_LT(std::abs(knot.offset_ns - kOffsetNs), 3'000);
}

TEST_P(LaneShiftOf, LanesOfOnePeriodThroughoutHaveSeveral) {
  const auto [a, b] = Lanes(0, 460, GetParam());
  const std::optional<LaneShift> shift = FindLaneShift(a, b, {0, 50'000'000, 32});
  ASSERT_TRUE(shift.has_value());
  EXPECT_FALSE(shift->accepted);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LaneShiftOf, testing::Range(1U, 7U));

}  // namespace
}  // namespace lockstep
