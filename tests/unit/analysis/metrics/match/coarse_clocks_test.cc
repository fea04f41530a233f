#include "analysis/metrics/match/lanes/coarse_clocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/base/executor.h"
#include "tests/unit/analysis/metrics/match/lockstep_lanes.h"

namespace lockstep {
namespace {

constexpr size_t kRanksOfHost = 32;  // more than lane pairs are tried

std::vector<RankLane> LanesOfHosts(size_t rows, double wander_ns, unsigned seed) {
  return LockstepLanes({.lanes = kRanksOfHost,
                        .rows = rows,
                        .shared = rows,
                        .wander_ns = wander_ns,
                        .offset_ns = 3'000'000,
                        .seed = seed});
}

// The busiest lane of each rank is of a group on its own host, which merely runs in lockstep with those of the other
// one.
TEST(CoarseClocks, ALaneThatHostsShareIsTriedBesideBusierOnesThatTheyDoNot) {
  InlineExecutor executor;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    std::vector<RankLane> lanes = LanesOfHosts(900, 3'000, seed);
    const ClockModel apart = FindCoarseClocks(lanes, TwoHosts(kRanksOfHost), lanes.size(), executor);
    EXPECT_NE(apart.ComponentOf(0), apart.ComponentOf(kRanksOfHost)) << seed;
    for (RankLane& lane : LanesOfHosts(300, 0, seed + 100)) lanes.push_back(std::move(lane));
    const ClockModel found = FindCoarseClocks(lanes, TwoHosts(kRanksOfHost), 2 * kRanksOfHost, executor);
    ASSERT_EQ(found.ComponentOf(0), found.ComponentOf(kRanksOfHost)) << seed;
    const int64_t here = found.Correction(0, LocalTime{1'010'000'000}).ns;
    const int64_t there = found.Correction(kRanksOfHost, LocalTime{1'013'000'000}).ns;
    EXPECT_NEAR(static_cast<double>(there - here), 3e6, 5'000) << seed;
  }
}

}  // namespace
}  // namespace lockstep
