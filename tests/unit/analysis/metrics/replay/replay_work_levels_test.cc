#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "analysis/metrics/replay/replay_peers.h"
#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/replay/hand_made_run.h"

namespace lockstep {
namespace {

// Of rank 0, in us; -1: there is none.
std::vector<double> LevelsOfRank0(HandMadeRun& run) {
  const ReplayGraph graph = run.Graph();
  const ReplayPeers peers(graph, run.match());
  std::vector<bool> in_scope(graph.first.size() - 1);
  in_scope[0] = true;
  std::vector<double> out;
  const std::vector<ReplayPeers::WorkValue> work = {[](const ReplayNode& node) { return node.device_ns; }};
  const auto levels = peers.LevelsOfWork(0, in_scope, work);
  for (const std::optional<PeerLevel>& level : levels.front()) {
    out.push_back(level ? level->mean_ns / kUs : -1);
  }
  return out;
}

// Rank 0 does 5/6 of the work of rank 1. Both then send to another one and meet, at the same moment: which of the two
// begins first is chance.
TEST(ReplayWorkLevels, WhatBeginsAtOneMomentInAnotherOrderIsComparedTogether) {
  HandMadeRun run(4);
  run.AddCommunicator({0, 1});
  run.Meet(CollectiveOp::kAllReduce, {{0, 0, 10}, {1, 0, 10}});
  run.Meet(CollectiveOp::kAllReduce, {{0, 111, 150}, {1, 130, 150}});
  run.Meet(CollectiveOp::kAllReduce, {{0, 300, 360}, {1, 330, 360}});
  run.AddCommunicator({0, 2});
  run.Meet(CollectiveOp::kSend, {{0, 110, 140}, {2, 90, 140}});
  run.AddCommunicator({1, 3});
  run.Meet(CollectiveOp::kSend, {{1, 131, 140}, {3, 90, 140}});
  const std::vector<double> levels = LevelsOfRank0(run);
  ASSERT_EQ(levels.size(), 4u);
  EXPECT_NEAR(levels[1] + levels[2], 121, 2);
  EXPECT_NEAR(levels[3], 180, 1);
}

// Gradients leave one after the other while rank 0 is at 1.2 times the work of rank 1: the second and the third start
// when the one before has ended, wherever the work is.
TEST(ReplayWorkLevels, WorkBetweenQueuedRowsIsComparedFromPlaceToPlaceThatBothShow) {
  HandMadeRun run(2);
  run.AddCommunicator({0, 1});
  run.Meet(CollectiveOp::kAllReduce, {{0, 0, 10, 10}, {1, 0, 10, 10}});
  run.Meet(CollectiveOp::kAllReduce, {{0, 120, 300, 180}, {1, 100, 300, 200}});
  run.Meet(CollectiveOp::kAllReduce, {{0, 300, 500, 200}, {1, 300, 500, 200}});
  run.Meet(CollectiveOp::kAllReduce, {{0, 500, 560, 60}, {1, 500, 560, 60}});
  run.Meet(CollectiveOp::kAllReduce, {{0, 1'080, 1'140, 60}, {1, 900, 1'140, 240}});
  const std::vector<double> levels = LevelsOfRank0(run);
  ASSERT_EQ(levels.size(), 5u);
  EXPECT_NEAR(levels[1], 100, 1);
  EXPECT_NEAR(levels[2], 180 / 1.2, 1);
  EXPECT_NEAR(levels[3], 200 / 1.2, 1);
  EXPECT_NEAR(levels[4], 580 / 1.2, 1);
}

}  // namespace
}  // namespace lockstep
