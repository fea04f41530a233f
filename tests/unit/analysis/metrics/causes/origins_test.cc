#include "analysis/metrics/causes/origins.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/analysis/metrics/timeline_run.h"

namespace lockstep {
namespace {

std::vector<OriginSuspect> OriginsOf(const GraphedRun& run) {
  return RankOrigins(run.matched.built.run, run.matched.ranks, run.graph, run.matched.match,
                     PropagateBlame(run.graph, run.matched.match));
}

TEST(Origins, ARankSlowerThanItsPeersByLessThanTheirJitterIsFound) {
  TimelineRun run(8, {{0, 1, 2, 3, 4, 5, 6, 7}});
  std::mt19937 random(11);
  std::exponential_distribution<double> late(1.0 / 9'000);
  for (int i = 0; i < 600; ++i) {
    run.WorkAll(100'000);
    run.Work(5, 4'000);
    for (int32_t rank = 0; rank < 8; ++rank) {
      run.Work(rank, static_cast<int64_t>(late(random)), LatenessPart::kHost);
    }
    run.Meet(0, 10'000);
  }
  const std::vector<OriginSuspect> origins = OriginsOf(MakeGraph(run));
  ASSERT_FALSE(origins.empty());
  EXPECT_EQ(origins.front().rank_index, 5);
  EXPECT_EQ(origins.front().part, LatenessPart::kCompute);
  EXPECT_EQ(origins.front().excess_ns, 599 * 4'000);  // the first instance has nothing before it
}

TEST(Origins, ATransferSlowerThanThoseOfEqualCommunicatorsIsNamed) {
  TimelineRun run(6, {{0, 1}, {2, 3}, {4, 5}, {0, 1, 2, 3, 4, 5}});
  for (int i = 0; i < 50; ++i) {
    run.WorkAll(100'000);
    run.Meet(0, 20'000);
    run.Meet(1, 90'000);
    run.Meet(2, 20'000);
    run.Meet(3, 10'000);
  }
  const GraphedRun graphed = MakeGraph(run);
  const std::vector<OriginSuspect> origins = OriginsOf(graphed);
  ASSERT_EQ(origins.size(), 1u);
  EXPECT_EQ(origins[0].rank_index, -1);
  EXPECT_EQ(origins[0].part, LatenessPart::kTransfer);
  EXPECT_EQ(graphed.matched.match.communicators[static_cast<size_t>(origins[0].communicator)].members,
            (std::vector<int32_t>{2, 3}));
}

// Ranks 1 and 3 are slow in groups of their own, then all meet: without rank 1 the run still waits for rank 3.
TEST(Origins, WhoHoldsNobodyUpIsBehindWhoDoes) {
  TimelineRun run(4, {{0, 1}, {2, 3}, {0, 1, 2, 3}});
  for (int64_t step = 0; step < 30; ++step) {
    run.SetStep(step);
    for (int i = 0; i < 6; ++i) {
      run.WorkAll(100'000);
      run.Work(1, 20'000, LatenessPart::kHost);
      run.Work(3, 30'000);
      run.Meet(0, 10'000);
      run.Meet(1, 10'000);
    }
    run.WorkAll(100'000);
    run.Meet(2, 10'000);
  }
  const GraphedRun graphed = MakeGraph(run);
  const MatchedRun& matched = graphed.matched;
  InlineExecutor executor;
  const Replay replay(graphed.graph, matched.match, executor);
  const std::vector<OriginSuspect> origins = FindOrigins(matched.built.run, matched.ranks, graphed.graph, matched.match,
                                                         PropagateBlame(graphed.graph, matched.match), replay);
  ASSERT_FALSE(origins.empty());
  EXPECT_EQ(origins.front().rank_index, 3);
  EXPECT_EQ(origins.front().part, LatenessPart::kCompute);
  EXPECT_NEAR(static_cast<double>(origins.front().saving_ns_per_step), 6 * 10'000, 6 * 1'000);
  for (const OriginSuspect& suspect : origins) {
    if (suspect.rank_index == 1) {
      EXPECT_EQ(suspect.saving_ns_per_step, 0);
    }
  }
}

TEST(Origins, RanksAlikeAreNobodysOrigin) {
  TimelineRun run(4, {{0, 1, 2, 3}});
  for (int i = 0; i < 20; ++i) {
    run.WorkAll(100'000);
    run.Meet(0, 10'000);
  }
  EXPECT_TRUE(OriginsOf(MakeGraph(run)).empty());
}

}  // namespace
}  // namespace lockstep
