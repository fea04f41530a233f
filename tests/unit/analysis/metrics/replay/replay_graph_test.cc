#include "analysis/metrics/replay/replay_graph.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/metrics/replay/hand_made_run.h"

namespace lockstep {
namespace {

// Two ranks meet in two communicators after the same work, and then in the second one again. Rank 0 starts the first
// meeting before the second one, rank 1 does it the other way round, so far apart.
ReplayGraph MetInEitherOrder(int64_t apart_us) {
  HandMadeRun run(2);
  run.AddCommunicator({0, 1});
  run.Meet(CollectiveOp::kReduce, {{0, 1'000, 1'050}, {1, 1'000 + apart_us, 1'050}});
  run.AddCommunicator({0, 1});
  run.Meet(CollectiveOp::kAllReduce, {{0, 1'000 + apart_us, 1'050}, {1, 1'000, 1'050}});
  run.Meet(CollectiveOp::kAllReduce, {{0, 2'000, 2'050}, {1, 2'000, 2'050}});
  return run.Graph();
}

bool LastRowsBeginAfterTheSame(const ReplayGraph& graph) {
  return graph.nodes[graph.first[1] - 1].begins_after == graph.nodes[graph.first[2] - 1].begins_after;
}

TEST(ReplayGraph, WhatFollowsRowsThatStartAtOneMomentBeginsAfterTheSamePlaceInWhateverOrderTheyAre) {
  EXPECT_TRUE(LastRowsBeginAfterTheSame(MetInEitherOrder(1)));
}

TEST(ReplayGraph, WhatFollowsRowsWithWorkBetweenThemBeginsAfterTheLastOfThem) {
  EXPECT_FALSE(LastRowsBeginAfterTheSame(MetInEitherOrder(20)));
}

}  // namespace
}  // namespace lockstep
