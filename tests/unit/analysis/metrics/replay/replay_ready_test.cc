#include "analysis/metrics/replay/replay_ready.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/metrics/replay/hand_made_run.h"

namespace lockstep {
namespace {

constexpr int32_t kReadySteps = 5;

// Two ranks gather weights twice a step on one stream, the second ones once their work has come to 150 us. In the last
// step the first ones are there after 200 us only. Then the work computes beside them for so long.
ReplayGraph QueueInLastStep(int64_t computes_us) {
  HandMadeRun run(2);
  run.AddCommunicator({0, 1});
  for (int32_t step = 0; step < kReadySteps; ++step) {
    run.SetStep(step);
    const int64_t at_us = 10'000 * step;
    const bool is_last = step + 1 == kReadySteps;
    const int64_t first_end_us = at_us + (is_last ? 200 : 100);
    const int64_t computed_us = is_last ? computes_us : 100;
    const int64_t second_us = is_last ? first_end_us + 1 : at_us + 150;
    run.Meet(CollectiveOp::kAllGather, {{0, at_us, first_end_us, computed_us}, {1, at_us, first_end_us, computed_us}});
    run.Meet(CollectiveOp::kAllGather, {{0, second_us, second_us + 100, 40}, {1, second_us, second_us + 100, 40}});
  }
  return run.Graph();
}

const ReplayNode& LastOf(const ReplayGraph& graph) { return graph.node(2 * kReadySteps - 1); }

TEST(ReplayReady, WhatLeavesAQueueAwaitsTheWorkThatHasComeAsFarAsWithoutAQueue) {
  const ReplayGraph graph = QueueInLastStep(150);
  EXPECT_GE(LastOf(graph).queued, 0);
  EXPECT_TRUE(LastOf(graph).awaits_work);
}

TEST(ReplayReady, WhereTheWorkWentOnMeanwhileTheRowWasReadyBefore) {
  const ReplayGraph graph = QueueInLastStep(200);
  EXPECT_GE(LastOf(graph).queued, 0);
  EXPECT_FALSE(LastOf(graph).awaits_work);
}

// Three a step, 150 us of work apart. In the last step the first ones are there after 400 us only, in which the work
// goes on for 300 us, and it does for 100 us beside the second ones: it is far beyond the place of the third ones.
TEST(ReplayReady, AQueueOfSeveralIsReadyWhereEachOfThemIsWithoutAQueue) {
  HandMadeRun run(2);
  run.AddCommunicator({0, 1});
  const auto meet = [&](int64_t from_us, int64_t to_us, int64_t computes_us) {
    run.Meet(CollectiveOp::kAllGather, {{0, from_us, to_us, computes_us}, {1, from_us, to_us, computes_us}});
  };
  for (int32_t step = 0; step + 1 < kReadySteps; ++step) {
    run.SetStep(step);
    const int64_t at_us = 10'000 * step;
    for (int64_t i = 0; i < 3; ++i) meet(at_us + 150 * i, at_us + 150 * i + 100, 100);
  }
  run.SetStep(kReadySteps - 1);
  const int64_t at_us = 10'000 * (kReadySteps - 1);
  meet(at_us, at_us + 400, 300);
  meet(at_us + 401, at_us + 501, 100);
  meet(at_us + 502, at_us + 602, 40);
  const ReplayGraph graph = run.Graph();
  const ReplayNode& third = graph.node(3 * kReadySteps - 1);
  EXPECT_GE(third.queued, 0);
  EXPECT_FALSE(third.awaits_work);
}

TEST(ReplayReady, WhatNoQueueHoldsBackIsNotMarked) {
  const ReplayGraph graph = QueueInLastStep(150);
  for (int32_t n = 0; n + 1 < 2 * kReadySteps; ++n) EXPECT_FALSE(graph.node(n).awaits_work) << n;
}

}  // namespace
}  // namespace lockstep
