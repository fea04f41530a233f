#include "analysis/metrics/arrivals/arrival_graph.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/metrics/arrivals/segment_chain.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"
#include "tests/unit/analysis/metrics/timeline_run.h"

namespace lockstep {
namespace {

// Two tensor-parallel pairs on two hosts that meet in pairs across; random lengths.
TimelineRun RandomGrid(unsigned seed, int steps = 12) {
  TimelineRun run(4, {{0, 1}, {2, 3}, {0, 2}, {1, 3}}, 2);
  std::mt19937 random(seed);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int step = 0; step < steps; ++step) {
    run.SetStep(step);
    for (int layer = 0; layer < 3; ++layer) {
      for (int32_t rank = 0; rank < 4; ++rank) {
        run.Work(rank, draw(50'000, 250'000));
        run.Work(rank, draw(0, 20'000), LatenessPart::kHost);
        run.Work(rank, draw(0, 3'000), LatenessPart::kLaunch);
      }
      run.Meet(0, draw(5'000, 20'000));
      run.Meet(1, draw(5'000, 20'000));
    }
    run.Meet(2, draw(20'000, 90'000));
    run.Meet(3, draw(20'000, 90'000));
  }
  return run;
}

TEST(ArrivalGraph, SegmentsTileFromThePreviousEndOfTheCommunicatorToTheStart) {
  const GraphedRun run = MakeGraph(RandomGrid(1), 3'000'000);
  size_t segments = 0;
  for (const auto& nodes : run.graph.ranks) {
    for (const ArrivalNode& node : nodes) {
      if (node.segment.begin_ns == kNoTime) continue;
      ++segments;
      ASSERT_GE(node.previous, 0);
      EXPECT_EQ(node.segment.begin_ns, nodes[static_cast<size_t>(node.previous)].end_ns);
      EXPECT_EQ(node.segment.begin_ns + PartsOf(node.segment), node.start_ns);
    }
  }
  EXPECT_GT(segments, 100u);
}

TEST(ArrivalGraph, NodesStandAtTheTimesOfTheirMatchedMembers) {
  const GraphedRun run = MakeGraph(RandomGrid(2), 3'000'000);
  size_t members = 0;
  for (size_t i = 0; i < run.matched.match.instances.size(); ++i) {
    for (const MatchedMember& m : run.matched.match.instances[i].members) {
      const ArrivalNode& node = run.graph.ranks[static_cast<size_t>(m.rank_index)][static_cast<size_t>(m.row)];
      EXPECT_EQ(node.instance, static_cast<int64_t>(i));
      EXPECT_EQ(node.start_ns, m.start_ns);
      EXPECT_EQ(node.end_ns, m.end_ns);
      ++members;
    }
  }
  EXPECT_GT(members, 100u);
}

// Rank 3 of a run of four on a clock that gains so much in the second from `from_ns` on.
std::vector<ArrivalNode> NodesOnADriftingClock(MatchedRun& matched, int64_t from_ns, int64_t gain_ns = 100'000) {
  const int64_t second = 1'000'000'000;
  matched.match.clock.SetDomainClock(
      matched.match.clock.DomainOf(3),
      DomainClock{.knots = {ClockKnot{.t_ns = from_ns}, ClockKnot{.t_ns = from_ns + second, .offset_ns = gain_ns}}});
  InlineExecutor executor;
  auto graph = LoadArrivalGraph(matched.built.run, matched.built.instances, matched.ranks, matched.match, executor);
  EXPECT_TRUE(graph.ok());
  return graph.ok() ? graph->ranks[3] : std::vector<ArrivalNode>();
}

// The kernels of one graph were launched at once, whenever each of them began.
TEST(ArrivalGraph, WhatWasLaunchedAtOneInstantStaysSoOnADriftingClock) {
  RunBuilder builder;
  RandomGrid(4).Tell(builder);
  MatchedRun matched = Match(builder);
  std::vector<InstanceRow>& rows = matched.built.instances.rows()[matched.ranks.ranks[3].source];
  const int64_t launch_ns = rows.front().start_ns - 50'000;
  for (InstanceRow& row : rows) {
    row.launch_start_ns = launch_ns;
    row.launch_end_ns = launch_ns + 10'000;
  }
  for (const ArrivalNode& node : NodesOnADriftingClock(matched, launch_ns)) {
    EXPECT_EQ(node.launch_start_ns, launch_ns);
    EXPECT_EQ(node.launch_end_ns, launch_ns + 10'000);
  }
}

// What a rank starts 1 us after a kernel that waited for 200 ms follows from its end on a drifting clock, too.
TEST(ArrivalGraph, AKernelThatWaitsForLongEndsBeforeTheNextStartOnADriftingClock) {
  RunBuilder builder;
  RandomGrid(4).Tell(builder);
  MatchedRun matched = Match(builder);
  std::vector<InstanceRow>& rows = matched.built.instances.rows()[matched.ranks.ranks[3].source];
  const int64_t from_ns = rows.front().start_ns;
  rows[1].duration_ns = 200'000'000;
  for (size_t k = 2; k < rows.size(); ++k) rows[k].start_ns = rows[k - 1].end_ns() + 1'000;
  const std::vector<ArrivalNode> nodes = NodesOnADriftingClock(matched, from_ns);
  for (size_t k = 2; k < nodes.size(); ++k) {
    EXPECT_NEAR(static_cast<double>(nodes[k].start_ns - nodes[k - 1].end_ns), 1'000, 2) << k;
  }
}

// Compute runs beside a kernel to its end, whose time is off by that of its start on a drifting clock.
TEST(ArrivalGraph, WorkThatGoesOnBeyondAKernelDoesNotWaitForItOnADriftingClock) {
  for (const int64_t gain_ns : {-100'000, 100'000}) {
    RunBuilder builder;
    RandomGrid(4).Tell(builder);
    MatchedRun matched = Match(builder);
    std::vector<InstanceRow>& rows = matched.built.instances.rows()[matched.ranks.ranks[3].source];
    for (InstanceRow& row : rows) row.cover = {{0, row.duration_ns}};
    const std::vector<ArrivalNode> nodes = NodesOnADriftingClock(matched, rows.front().start_ns, gain_ns);
    for (const ArrivalNode& node : nodes) EXPECT_FALSE(node.work.joined) << gain_ns;
  }
}

TEST(ArrivalGraph, WaitsPointToEarlierInstancesOfTheOrder) {
  const GraphedRun run = MakeGraph(RandomGrid(3));
  const auto last_start = [&](uint32_t instance) {
    int64_t last = INT64_MIN;
    for (const MatchedMember& m : run.matched.match.instances[instance].members) last = std::max(last, m.start_ns);
    return last;
  };
  ASSERT_GT(run.graph.order.size(), 10u);
  for (size_t i = 1; i < run.graph.order.size(); ++i) {
    EXPECT_LE(last_start(run.graph.order[i - 1]), last_start(run.graph.order[i]));
  }
}

TEST(ArrivalGraph, OrderOfTheExecutorChangesNothing) {
  const GraphedRun one = MakeGraph(RandomGrid(4), 3'000'000, false);
  const GraphedRun other = MakeGraph(RandomGrid(4), 3'000'000, true);
  EXPECT_EQ(one.graph.order, other.graph.order);
  ASSERT_EQ(one.graph.ranks.size(), other.graph.ranks.size());
  for (size_t r = 0; r < one.graph.ranks.size(); ++r) {
    ASSERT_EQ(one.graph.ranks[r].size(), other.graph.ranks[r].size());
    for (size_t row = 0; row < one.graph.ranks[r].size(); ++row) {
      EXPECT_EQ(one.graph.ranks[r][row].start_ns, other.graph.ranks[r][row].start_ns);
      EXPECT_EQ(one.graph.ranks[r][row].segment, other.graph.ranks[r][row].segment);
    }
  }
}

// A rank's own rows [start, end) with what came before each, as one source without communicators sees them.
struct UntoldRows {
  std::vector<ArrivalNode> nodes;
  std::vector<uint32_t> communicator;

  void Add(int64_t start, int64_t end, int64_t previous, int64_t compute, int64_t begin = kNoTime) {
    ArrivalNode node;
    node.start_ns = start;
    node.end_ns = end;
    node.previous = previous;
    node.segment.begin_ns = begin;
    node.segment.compute_ns = compute;
    nodes.push_back(node);
    communicator.push_back(0);
  }
};

TEST(SegmentChain, SegmentsOfOneUntoldStreamAreJoinedUpToTheirOwnCommunicator) {
  UntoldRows rows;
  rows.Add(0, 10, -1, 0);
  rows.Add(30, 40, -1, 20, 10);  // of another communicator
  rows.Add(75, 80, 0, 35, 40);
  ChainSegments(rows.communicator, rows.nodes);
  const Segment& joined = rows.nodes[2].segment;
  EXPECT_EQ(joined.begin_ns, 10);
  EXPECT_EQ(joined.compute_ns, 55);
  EXPECT_EQ(joined.other_comm_ns, 10);
  ASSERT_EQ(joined.tiles.size(), 1u);
  EXPECT_EQ(joined.tiles[0], (OtherCommTile{1, 20, 10}));
  EXPECT_EQ(rows.nodes[1].segment.begin_ns, kNoTime);  // the first of its communicator
}

TEST(SegmentChain, OverlappingInstancesOfAnUntoldStreamStillTile) {
  UntoldRows rows;
  rows.Add(0, 10, -1, 0);
  rows.Add(20, 50, -1, 10, 10);
  rows.Add(40, 45, -1, 0);  // inside the one before: no segment
  rows.Add(60, 70, 0, 10, 50);
  ChainSegments(rows.communicator, rows.nodes);
  const Segment& joined = rows.nodes[3].segment;
  EXPECT_EQ(joined.begin_ns, 10);
  EXPECT_EQ(PartsOf(joined), 50);
  EXPECT_EQ(joined.compute_ns, 20);
  EXPECT_EQ(joined.other_comm_ns, 30);
}

TEST(SegmentChain, SegmentsThatDoNotTileAreNotBelieved) {
  UntoldRows rows;
  rows.Add(0, 10, -1, 0);
  rows.Add(30, 40, 0, 19, 10);
  rows.Add(60, 70, 1, 20, 40);
  rows.nodes[2].segment.other_comm_ns = -1;
  ChainSegments(rows.communicator, rows.nodes);
  EXPECT_EQ(rows.nodes[1].segment.begin_ns, kNoTime);
  EXPECT_EQ(rows.nodes[2].segment.begin_ns, kNoTime);
}

TEST(SegmentChain, TilesOfRowsThatDoNotExistAreNotBelieved) {
  UntoldRows rows;
  rows.Add(0, 10, -1, 0);
  rows.Add(30, 40, 0, 15, 10);
  rows.nodes[1].segment.other_comm_ns = 5;
  rows.nodes[1].segment.tiles = {{7, 3, 5}};
  ChainSegments(rows.communicator, rows.nodes);
  EXPECT_EQ(rows.nodes[1].segment.begin_ns, kNoTime);
}

}  // namespace
}  // namespace lockstep
