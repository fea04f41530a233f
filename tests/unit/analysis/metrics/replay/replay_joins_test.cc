#include "analysis/metrics/replay/replay_joins.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/unit/analysis/metrics/replay/hand_made_run.h"

namespace lockstep {
namespace {

// Two ranks meet, gather weights beside their work until 300 us, and meet again. Rank 0 has done its other work after
// 250 us and stands still for the weights; rank 1 comes later to that place, or sooner.
ReplayGraph Gathering(int64_t second_meeting_of_rank_1_us) {
  HandMadeRun run(2);
  run.AddCommunicator({0, 1});
  const int64_t last_us = second_meeting_of_rank_1_us;
  run.Meet(CollectiveOp::kAllReduce, {{0, 0, 10}, {1, 0, 10}});
  run.Meet(CollectiveOp::kAllReduce, {{0, 400, last_us + 10}, {1, last_us, last_us + 10}});
  run.AddCommunicator({0, 1});
  run.Meet(CollectiveOp::kAllGather, {{0, 50, 300, 200}, {1, 50, 300, 250}});
  return run.Graph();
}

// At which share of the piece that node n ends the work waits for node `joined`; null: it does not.
std::optional<float> ShareOfJoin(const ReplayGraph& graph, int32_t n, int32_t joined) {
  const ReplayNode& node = graph.node(n);
  for (int32_t j = node.join_first; j < node.join_first + node.join_count; ++j) {
    const ReplayJoin& join = graph.joins[static_cast<size_t>(j)];
    if (join.node == joined) return join.at_share;
  }
  return std::nullopt;
}

TEST(ReplayJoins, WhoComesLaterToThePlaceWhereAnotherOneWaitedWaitsThereToo) {
  const ReplayGraph graph = Gathering(500);
  const std::optional<float> of_rank_0 = ShareOfJoin(graph, 2, 1);  // as recorded
  ASSERT_TRUE(of_rank_0);
  EXPECT_NEAR(*of_rank_0, 240.0 / 340.0, 0.01);
  EXPECT_EQ(ShareOfJoin(graph, 5, 4), of_rank_0);
}

TEST(ReplayJoins, WhoWasThereBeforeTheEndDidNotWait) { EXPECT_FALSE(ShareOfJoin(Gathering(340), 5, 4)); }

// One meeting begins each step; weights are gathered beside the work and waited for, 250 us after it. In the last step
// rank 0 is held up until 600 us, and the weights are there before.
TEST(ReplayJoins, AWaitOfMostStepsIsOneOfTheOthersToo) {
  constexpr int32_t kSteps = 4;
  HandMadeRun run(2);
  for (const bool gathers : {false, true}) {
    run.AddCommunicator({0, 1});
    for (int32_t step = 0; step < kSteps; ++step) {
      run.SetStep(step);
      const int64_t at_us = 2'000 * step;
      const bool is_last = step + 1 == kSteps;
      if (gathers) {
        run.Meet(CollectiveOp::kAllGather,
                 {{0, at_us + 50, at_us + 300, is_last ? 250 : 200}, {1, at_us + 50, at_us + 300, 250}});
        continue;
      }
      run.Meet(CollectiveOp::kAllReduce, {{0, at_us, at_us + 10}, {1, at_us, at_us + 10}});
      const int64_t second_us = at_us + (is_last ? 1'000 : 400);
      run.Meet(CollectiveOp::kAllReduce, {{0, second_us, second_us + 10}, {1, at_us + 300, second_us + 10}});
    }
  }
  const ReplayGraph graph = run.Graph();
  const std::optional<float> usual = ShareOfJoin(graph, 2, 1);
  ASSERT_TRUE(usual);
  EXPECT_EQ(ShareOfJoin(graph, 3 * kSteps - 1, 3 * kSteps - 2), usual);
}

// Rank 0 stands still from 200 us on, until a meeting with rank 2 ends at 301 us; weights that it gathers with rank 1
// are there at 300 us. Rank 1 meets rank 3 in the same places, and computes beside the gathering for so long.
ReplayGraph TwoEndsAtOnce(int64_t rank_1_computes_us) {
  HandMadeRun run(4);
  for (const int32_t rank : {0, 1}) {
    const int64_t second_end_us = rank == 0 ? 301 : 220;
    run.AddCommunicator({rank, rank + 2});
    run.Meet(CollectiveOp::kAllReduce, {{rank, 0, 10}, {rank + 2, 0, 10}});
    run.Meet(CollectiveOp::kAllReduce, {{rank, 200, second_end_us}, {rank + 2, second_end_us - 20, second_end_us}});
    run.Meet(CollectiveOp::kAllReduce, {{rank, 400, 410}, {rank + 2, 400, 410}});
  }
  run.AddCommunicator({0, 1});
  run.Meet(CollectiveOp::kAllGather, {{0, 50, 300, 150}, {1, 50, 300, rank_1_computes_us}});
  return run.Graph();
}

TEST(ReplayJoins, OfTwoThatEndAtOneTimeTheWorkDoesNotWaitForWhatOthersGoOnBeside) {
  const ReplayGraph graph = TwoEndsAtOnce(250);
  EXPECT_FALSE(ShareOfJoin(graph, 3, 1) || ShareOfJoin(graph, 2, 1));
  EXPECT_TRUE(ShareOfJoin(graph, 3, 2));
}

TEST(ReplayJoins, OfTwoThatEndAtOneTimeTheWorkWaitsForBothIfNothingTellsThemApart) {
  const ReplayGraph graph = TwoEndsAtOnce(150);
  EXPECT_TRUE(ShareOfJoin(graph, 3, 1) || ShareOfJoin(graph, 2, 1));
  EXPECT_TRUE(ShareOfJoin(graph, 3, 2));
}

}  // namespace
}  // namespace lockstep
