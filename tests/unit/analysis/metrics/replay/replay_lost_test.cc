#include "analysis/metrics/replay/replay_lost.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "analysis/metrics/replay/replay.h"
#include "tests/support/time_units.h"
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

// Gradients of two ranks, which leave one after the other beside the work. Of rank 0 the record of one is lost.
class Gradients {
 public:
  // `after_lost_us`: so long after the end of what rank 0 lost its next one starts.
  explicit Gradients(int64_t after_lost_us) {
    source_.ranks.resize(2);
    match_.communicators.push_back({.id = "a", .members = {0, 1}, .size = 2});
    for (int64_t i = 0; i < 6; ++i) {
      const int64_t start_us = 100 * i;
      MatchedInstance instance;
      instance.op = CollectiveOp::kAllReduce;
      instance.index = i;
      instance.confidence = 1;
      instance.comparable = true;
      instance.all_pairs = true;
      for (int32_t rank = 0; rank < 2; ++rank) {
        if (rank == 0 && i == kLostInstance) continue;
        const int64_t late_us = rank == 0 && i == kLostInstance + 1 ? after_lost_us - 2 : 0;
        Add(rank, (start_us + late_us) * kUs, (start_us + 98) * kUs, instance);
      }
      match_.instances.push_back(instance);
    }
  }

  // The node that the row of rank 0 behind the lost one follows from; -1: none.
  [[nodiscard]] int32_t QueuedBehindLost() {
    for (std::vector<ArrivalNode>& rows : source_.ranks) {
      SetWork(std::vector<Few<std::pair<int64_t, int64_t>>>(rows.size(), {{0, 98 * kUs}}), rows);
    }
    InlineExecutor executor;
    const ReplayGraph graph = BuildReplayGraph(source_, match_, executor);
    EXPECT_EQ(graph.forced, 0);
    return graph.nodes[kLostInstance].queued;
  }
  // Of the lost instance the node of rank 1.
  [[nodiscard]] static int32_t LostNode() { return 5 + kLostInstance; }

 private:
  static constexpr int32_t kLostInstance = 2;

  void Add(int32_t rank, int64_t start_ns, int64_t end_ns, MatchedInstance& instance) {
    std::vector<ArrivalNode>& rows = source_.ranks[static_cast<size_t>(rank)];
    MatchedMember member;
    member.rank_index = rank;
    member.row = static_cast<int64_t>(rows.size());
    member.start_ns = start_ns;
    member.end_ns = end_ns;
    instance.members.push_back(member);
    ArrivalNode node;
    node.start_ns = start_ns;
    node.end_ns = end_ns;
    node.stream = 7;
    node.step = 0;
    node.instance = static_cast<int64_t>(match_.instances.size());
    node.previous = static_cast<int64_t>(rows.size()) - 1;
    rows.push_back(node);
  }

  ArrivalGraph source_;
  MatchResult match_;
};

TEST(ReplayLost, CommunicationBesideWorkFollowsFromTheEndOfTheLostOne) {
  EXPECT_EQ(Gradients(2).QueuedBehindLost(), Gradients::LostNode());
}

TEST(ReplayLost, CommunicationBesideWorkThatStartsMuchLaterFollowsFromTheWork) {
  EXPECT_EQ(Gradients(40).QueuedBehindLost(), -1);
}

}  // namespace
}  // namespace lockstep
