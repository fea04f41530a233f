// A rank that loses many records in a row, in the middle of its capture.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "tests/unit/analysis/metrics/match/cluster_run.h"

namespace lockstep {
namespace {

constexpr int32_t kRank = 2;

ClusterShape WithBurst(Told told, uint64_t seed, int32_t group_size) {
  ClusterShape shape;
  shape.hosts = 1;
  shape.told = told;
  shape.seed = seed;
  shape.kinds = {{Neighbours(4, group_size), 32}};
  shape.burst_rank = kRank;
  return shape;
}

class Burst : public testing::TestWithParam<std::tuple<Told, uint64_t, int32_t>> {};

TEST_P(Burst, WhatLiesBeforeAndAfterIsJoined) {
  const auto& [told, seed, group_size] = GetParam();
  const ClusterRun truth(WithBurst(told, seed, group_size));
  RunBuilder builder;
  truth.Tell(builder);
  const ClusterRun::Score score = truth.Compare(Match(builder));
  EXPECT_EQ(score.right, score.claimed);
  EXPECT_GE(score.recall(), 0.995);
}

TEST_P(Burst, TheBreakIsReportedOnceWithItsLength) {
  const auto& [told, seed, group_size] = GetParam();
  const ClusterRun truth(WithBurst(told, seed, group_size));
  RunBuilder builder;
  truth.Tell(builder);
  const MatchedRun run = Match(builder);
  int64_t largest = 0;
  for (const SequenceBreak& b : run.match.breaks) {
    if (b.rank_index == kRank && !b.at_edge) largest = std::max(largest, b.missing);
  }
  // Alone in a pair, the other rank's rows are those that nobody shares.
  for (const SequenceBreak& b : run.match.breaks) {
    if (group_size == 2 && !b.at_edge) largest = std::max(largest, -b.missing);
  }
  EXPECT_NEAR(static_cast<double>(largest), 40 * 32 / 4, 2);
}

INSTANTIATE_TEST_SUITE_P(Levels, Burst,
                         testing::Combine(testing::Values(Told::kIds, Told::kGroups, Told::kNames),
                                          testing::Values(1U, 2U), testing::Values(2, 4)));

}  // namespace
}  // namespace lockstep
