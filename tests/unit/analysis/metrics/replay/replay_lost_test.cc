#include "analysis/metrics/replay/replay_lost.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "analysis/metrics/replay/replay.h"
#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/replay/hand_made_run.h"
#include "tests/unit/analysis/metrics/timeline_run.h"

namespace lockstep {
namespace {

constexpr int64_t kLostSteps = 12;

// Three pairs of neighbours, {0, 2, 4}, {1, 3, 5}, and all. In some steps rank 3 stalls before it meets its neighbour;
// next it meets 1 and 5, where its record may be lost.
TimelineRun Stalling(bool with_loss) {
  TimelineRun run(6, {{0, 1}, {2, 3}, {4, 5}, {0, 2, 4}, {1, 3, 5}, {0, 1, 2, 3, 4, 5}});
  for (int64_t step = 0; step < kLostSteps; ++step) {
    run.SetStep(step);
    const bool stalls = step % 3 == 1;
    if (stalls) run.Work(3, 5 * kMs, LatenessPart::kLaunch);
    for (int round = 0; round < 2; ++round) {
      run.WorkAll(300 * kUs);
      for (const size_t pair : {0, 1, 2}) run.Meet(pair, 20 * kUs);
      run.WorkAll(200 * kUs);
      run.Meet(3, 30 * kUs);
      run.Meet(4, 30 * kUs, with_loss && stalls && round == 0 ? 3 : -1);
    }
    run.WorkAll(100 * kUs);
    run.Meet(5, 20 * kUs);
  }
  return run;
}

std::optional<WhatIf> SavingWithout(const TimelineRun& timeline, int32_t rank) {
  const GraphedRun run = MakeGraph(timeline);
  InlineExecutor executor;
  const Replay replay(run.graph, run.matched.match, executor);
  ReplayScratch scratch;
  return replay.Saving({.rank_indices = {rank}}, scratch);
}

TEST(ReplayLost, WhoWaitedForARankWhoseRecordIsLostGainsAsMuch) {
  const auto whole = SavingWithout(Stalling(false), 3);
  const auto lossy = SavingWithout(Stalling(true), 3);
  ASSERT_TRUE(whole && lossy);
  const auto truth = static_cast<double>(5 * kMs / 3);
  EXPECT_NEAR(static_cast<double>(whole->saving_ns_per_step), truth, 0.03 * truth);
  EXPECT_NEAR(static_cast<double>(lossy->saving_ns_per_step), truth, 0.03 * truth);
}

// Gradients of two ranks, which leave one after the other beside the work. Of rank 0 the record of the third is lost.
// Returns the node that its next one follows from, which starts so long after the end of the lost one; -1: none.
int32_t QueuedBehindLost(int64_t after_lost_us) {
  HandMadeRun run(2);
  run.AddCommunicator({0, 1});
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t start_us = 100 * i;
    const int64_t late_us = i == 3 ? after_lost_us - 2 : 0;
    std::vector<HandMadeRow> rows;
    if (i != 2) rows.push_back({0, start_us + late_us, start_us + 98, 98 - late_us});
    rows.push_back({1, start_us, start_us + 98, 98});
    run.Meet(CollectiveOp::kAllReduce, rows);
  }
  const ReplayGraph graph = run.Graph();
  EXPECT_EQ(graph.forced, 0);
  return graph.nodes[2].queued;
}

TEST(ReplayLost, CommunicationBesideWorkFollowsFromTheEndOfTheLostOne) {
  constexpr int32_t kLostOne = 5 + 2;  // as rank 1 has it
  EXPECT_EQ(QueuedBehindLost(2), kLostOne);
}

constexpr int64_t kPairSteps = 5;

// Two ranks meet twice a step. In the last step `loser` has no record of the first time. Times of a step, which is 10
// ms.
ReplayGraph LosesInLastStep(CollectiveOp op, int32_t loser, const std::vector<HandMadeRow>& first,
                            const std::vector<HandMadeRow>& second) {
  HandMadeRun run(2);
  run.AddCommunicator({0, 1});
  for (int64_t step = 0; step < kPairSteps; ++step) {
    run.SetStep(step);
    for (const std::vector<HandMadeRow>* rows : {&first, &second}) {
      std::vector<HandMadeRow> met;
      for (HandMadeRow row : *rows) {
        if (rows == &first && step + 1 == kPairSteps && row.rank == loser) continue;
        row.start_us += 10'000 * step;
        row.end_us += 10'000 * step;
        met.push_back(row);
      }
      run.Meet(op, met);
    }
  }
  return run.Graph();
}

// The work computes beside the first gradient for 200 us, stands still until it ends, and the second one leaves.
TEST(ReplayLost, StandingStillForALostGradientIsNoWork) {
  const ReplayGraph graph = LosesInLastStep(CollectiveOp::kAllReduce, 0, {{0, 0, 1'000, 200}, {1, 0, 1'000, 200}},
                                            {{0, 1'002, 1'100}, {1, 1'002, 1'100}});
  constexpr int32_t kLastOfRank0 = 2 * kPairSteps - 2;
  constexpr int32_t kLostOne = kLastOfRank0 + 1 + 2 * (kPairSteps - 1);  // as rank 1 has it
  EXPECT_EQ(graph.node(kLastOfRank0).passed, kLostOne);
  EXPECT_EQ(graph.node(kLastOfRank0).device_ns, 2 * kUs);
}

// Rank 0 is the root of a reduction, beside which it computes, and waits for rank 1, whose last record is lost.
TEST(ReplayLost, WhoIsLeftOfAPairAndWaitedDidSoForTheOneWhoseRecordIsLost) {
  const ReplayGraph graph = LosesInLastStep(CollectiveOp::kReduce, 1, {{0, 0, 600, 300, 1}, {1, 500, 600, 100}},
                                            {{0, 2'000, 2'100, 100, 1}, {1, 2'000, 2'100, 100}});
  const ReplayAbsent* absent = graph.AbsentOf(2 * (kPairSteps - 1));
  ASSERT_NE(absent, nullptr);
  EXPECT_EQ(absent->arrival_ns, (10'000 * (kPairSteps - 1) + 500) * kUs);
  EXPECT_EQ(graph.node(absent->after).rank, 1);
  EXPECT_EQ(graph.node(2 * (kPairSteps - 1)).awaits, kEverybody);
}

TEST(ReplayLost, CommunicationBesideWorkThatStartsMuchLaterFollowsFromTheWork) { EXPECT_EQ(QueuedBehindLost(40), -1); }

}  // namespace
}  // namespace lockstep
