// Two hosts that record at the same time for some dozen rows only: what that may be taken for.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "analysis/metrics/match/lanes/coarse_clocks.h"
#include "analysis/metrics/match/lanes/lane_sets.h"
#include "platform/executor.h"
#include "tests/unit/analysis/metrics/match/lockstep_lanes.h"

namespace lockstep {
namespace {

bool Connected(const LockstepShape& shape) {
  const std::vector<RankLane> lanes = LockstepLanes(shape);
  SerialExecutor executor;
  const ClockModel clock = FindCoarseClocks(lanes, TwoHosts(shape.lanes), lanes.size(), executor);
  return clock.ComponentOf(0) == clock.ComponentOf(static_cast<int32_t>(shape.lanes));
}

// The sets that are found where something else has connected the clocks.
std::vector<std::vector<size_t>> SetsOf(LockstepShape shape) {
  shape.offset_ns = 0;
  ClockModel clock = TwoHosts(shape.lanes);
  for (const int32_t domain : {0, 1}) {
    DomainClock known;
    known.component = 0;
    known.knots = {{0, 0, 0, 0, 1'000}};
    clock.SetDomainClock(DomainId{domain}, known);
  }
  SerialExecutor executor;
  return FindLaneSets(LockstepLanes(shape), clock, executor).sets;
}

class ShortOverlap : public testing::TestWithParam<unsigned> {};

TEST_P(ShortOverlap, OfOneJobConnectsItsHosts) { EXPECT_TRUE(Connected({.wander_ns = 0, .seed = GetParam()})); }

TEST_P(ShortOverlap, OfTwoJobsInLockstepConnectsNothing) { EXPECT_FALSE(Connected({.seed = GetParam()})); }

TEST_P(ShortOverlap, OfOneJobShowsOneCommunicator) {
  const auto sets = SetsOf({.wander_ns = 0, .seed = GetParam()});
  ASSERT_EQ(sets.size(), 1U);
  EXPECT_EQ(sets.front().size(), 16U);
}

TEST_P(ShortOverlap, OfTwoJobsInLockstepShowsTheCommunicatorOfEach) {
  const std::vector<std::vector<size_t>> each = {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}};
  EXPECT_EQ(SetsOf({.seed = GetParam()}), each);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ShortOverlap, testing::Range(1U, 9U));

}  // namespace
}  // namespace lockstep
