#include "analysis/metrics/replay/replay_coupling.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/analysis/metrics/replay/hand_made_run.h"

namespace lockstep {
namespace {

// Three ranks, of which nothing tells the root. The last one comes 100 us after the others.
ReplayGraph Rooted(CollectiveOp op, bool ends_together) {
  HandMadeRun run(3);
  run.AddCommunicator({0, 1, 2});
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t start_us = 10'000 * i;
    const int64_t end_us = start_us + (ends_together ? 2'100 : 2'000);
    run.Meet(op, {{0, start_us, end_us}, {1, start_us, end_us}, {2, start_us + 100, start_us + 2'100}});
  }
  return run.Graph();
}

TEST(ReplayCoupling, InARootedOperationAllWaitForAllWhereEarlyOnesEndWithTheLast) {
  for (const CollectiveOp op : {CollectiveOp::kReduce, CollectiveOp::kBroadcast}) {
    const ReplayGraph graph = Rooted(op, true);
    for (const ReplayNode& node : graph.nodes) EXPECT_EQ(node.awaits, kEverybody);
  }
}

TEST(ReplayCoupling, InARootedOperationNobodyWaitsWhereEarlyOnesEndEarly) {
  for (const CollectiveOp op : {CollectiveOp::kReduce, CollectiveOp::kBroadcast}) {
    const ReplayGraph graph = Rooted(op, false);
    for (const ReplayNode& node : graph.nodes) EXPECT_EQ(node.awaits, kNobody);
  }
}

// Rank 0 sends once a step. In most steps rank 1 is there before; in the last one it is late, and rank 0 waits.
TEST(ReplayCoupling, WhoSendsIsWhoSendsInMostSteps) {
  HandMadeRun run(2);
  run.AddCommunicator({0, 1});
  constexpr int32_t kSteps = 6;
  for (int32_t step = 0; step < kSteps; ++step) {
    run.SetStep(step);
    const int64_t start_us = 10'000 * step;
    const bool is_last = step + 1 == kSteps;
    const HandMadeRow sender = {0, start_us + 100, start_us + (is_last ? 920 : 120), 0, is_last ? 1 : -1};
    const HandMadeRow receiver = {1, start_us + (is_last ? 900 : 0), start_us + (is_last ? 920 : 120), 0,
                                  is_last ? -1 : 0};
    run.Meet(CollectiveOp::kSendRecv, {sender, receiver});
  }
  const ReplayGraph graph = run.Graph();
  for (int32_t step = 0; step < kSteps; ++step) {
    EXPECT_EQ(graph.node(kSteps + step).awaits, step) << step;  // the receiver's for the sender's
    EXPECT_EQ(graph.node(step).awaits, kSteps + step) << step;  // and this sender waits, too
  }
}

// As often rank 0 waits for rank 1, which stalls, as the other way round. Whoever sends, both wait for each other.
TEST(ReplayCoupling, OfTwoThatWaitForEachOtherAsOftenBothDo) {
  HandMadeRun run(2);
  run.AddCommunicator({0, 1});
  constexpr int32_t kSteps = 8;
  for (int32_t step = 0; step < kSteps; ++step) {
    run.SetStep(step);
    const int64_t start_us = 10'000 * step;
    const bool stalls = step % 2 == 0;
    run.Meet(CollectiveOp::kSendRecv,
             {{0, start_us + 300, start_us + (stalls ? 920 : 320), 0, stalls ? 1 : -1},
              {1, start_us + (stalls ? 900 : 0), start_us + (stalls ? 920 : 320), 0, stalls ? -1 : 0}});
  }
  const ReplayGraph graph = run.Graph();
  for (int32_t step = 0; step < kSteps; ++step) {
    EXPECT_EQ(graph.node(kSteps + step).awaits, step) << step;
    EXPECT_EQ(graph.node(step).awaits, kSteps + step) << step;
  }
}

}  // namespace
}  // namespace lockstep
