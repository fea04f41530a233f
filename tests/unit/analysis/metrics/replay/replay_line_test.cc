#include "analysis/metrics/replay/replay_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/time_units.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

constexpr uint32_t kAlone = 0;   // communicator that nothing runs beside
constexpr uint32_t kBeside = 1;  // and one that runs beside compute

// The rows of one rank, each an instance of its own.
class RankRows {
 public:
  void Add(uint32_t communicator, int32_t stream, int64_t start_us, int64_t end_us,
           CollectiveOp op = CollectiveOp::kAllReduce) {
    ArrivalNode node;
    node.start_ns = start_us * kUs;
    node.end_ns = end_us * kUs;
    node.stream = stream;
    node.step = step_;
    node.instance = static_cast<int64_t>(match_.instances.size());
    MatchedInstance instance;
    instance.communicator = communicator;
    instance.op = op;
    match_.instances.push_back(instance);
    rows_.push_back(node);
    covers_.emplace_back();
    if (communicator == kBeside) covers_.back().push_back({0, node.end_ns - node.start_ns});
  }

  // Of the rows that are added from now on.
  void SetStep(int64_t step) { step_ = step; }

  // The work ends half through the last one.
  void Uncover() {
    if (!covers_.back().empty()) covers_.back().back().second /= 2;
  }

  // Compute runs beside the last one in this stretch of it.
  void CoverFrom(int64_t from_us, int64_t length_us) {
    covers_.back() = {};
    covers_.back().push_back({from_us * kUs, length_us * kUs});
  }

  ReplayGraph Line() {
    match_.communicators.resize(2);
    SetWork(covers_, rows_);
    ReplayGraph graph;
    graph.first = {0, rows_.size()};
    graph.nodes = ReplayNodes(rows_.size());
    ArrivalGraph source;
    source.ranks = {rows_};
    graph.joins = AddLine(rows_, match_, MeasureAlone(source, match_), 0, graph);
    return graph;
  }
  [[nodiscard]] int64_t Work() const { return rows_.back().work.start_ns; }

 private:
  int64_t step_ = 0;
  MatchResult match_;
  std::vector<ArrivalNode> rows_;
  std::vector<Few<std::pair<int64_t, int64_t>>> covers_;
};

int64_t SumOfPieces(const ReplayGraph& graph) {
  int64_t sum = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) sum += graph.nodes[n].device_ns + graph.nodes[n].host_ns;
  return sum;
}

// Three that run alone, 900 us of work apart, and one beside compute.
RankRows Mixed(int64_t beside_from_us) {
  RankRows rows;
  rows.Add(kAlone, 1, 0, 100);
  rows.Add(kBeside, 2, beside_from_us, beside_from_us + 50);
  rows.Add(kAlone, 1, 1'000, 1'100);
  rows.Add(kAlone, 1, 2'000, 2'100);
  return rows;
}

TEST(ReplayLine, PiecesFollowEachOtherWithoutAGap) {
  RankRows rows = Mixed(400);
  const ReplayGraph graph = rows.Line();
  EXPECT_EQ(SumOfPieces(graph), rows.Work());
  EXPECT_EQ(rows.Work(), 1'800 * kUs);
}

TEST(ReplayLine, WhatRunsBesideComputeCutsNothing) {
  RankRows rows = Mixed(400);
  const ReplayGraph graph = rows.Line();
  EXPECT_EQ(graph.nodes[1].piece, 2);
  EXPECT_EQ(graph.nodes[1].device_ns, 0);
  EXPECT_FLOAT_EQ(graph.nodes[1].at_share, 300.0F / 900.0F);
  EXPECT_EQ(graph.nodes[2].device_ns + graph.nodes[2].host_ns, 900 * kUs);
}

TEST(ReplayLine, TheOrderOfTwoStartsAtOneTimeMovesNoWork) {
  RankRows before;
  RankRows after;
  for (RankRows* rows : {&before, &after}) {
    rows->Add(kAlone, 1, 0, 100);
    if (rows == &before) rows->Add(kBeside, 2, 999, 1'150);
    rows->Add(kAlone, 1, 1'000, 1'100);
    if (rows == &after) rows->Add(kBeside, 2, 1'001, 1'150);
    rows->Add(kAlone, 1, 2'000, 2'100);
  }
  const ReplayGraph one = before.Line();
  const ReplayGraph other = after.Line();
  EXPECT_EQ(one.nodes[2].device_ns + one.nodes[2].host_ns, other.nodes[1].device_ns + other.nodes[1].host_ns);
}

TEST(ReplayLine, WhereHardlyAnyRunsAloneAllCut) {
  RankRows rows;
  rows.Add(kAlone, 1, 0, 100);
  for (int64_t i = 1; i <= 8; ++i) rows.Add(kBeside, 2, 200 * i, 200 * i + 50);
  const ReplayGraph graph = rows.Line();
  for (int32_t n = 0; n < 9; ++n) EXPECT_EQ(graph.node(n).piece, n);
  EXPECT_EQ(SumOfPieces(graph), rows.Work());
}

// The gradients of a sharded optimizer are reduced to their owners, beside the backward pass at first; parameters are
// broadcast in the same group, always alone. The work ends just before the first reduce does, so that nobody knows for
// how much of it the second one had to wait.
TEST(ReplayLine, GradientsQueueWhateverElseTheirCommunicatorDoes) {
  RankRows rows;
  for (int64_t i = 0; i < 30; ++i) rows.Add(kAlone, 1, 200 * i, 200 * i + 50, CollectiveOp::kBroadcast);
  rows.Add(kAlone, 1, 10'000, 10'500, CollectiveOp::kReduce);
  rows.CoverFrom(0, 470);
  rows.Add(kAlone, 1, 10'501, 10'900, CollectiveOp::kReduce);
  rows.Add(kAlone, 1, 10'901, 11'300, CollectiveOp::kReduce);
  const ReplayGraph graph = rows.Line();
  EXPECT_EQ(graph.nodes[31].queued, 30);
  EXPECT_TRUE(graph.nodes[31].place_hidden);
  EXPECT_EQ(graph.nodes[32].queued, 31);
}

TEST(ReplayLine, WaitsWhereTheWorkStoodStill) {
  const ReplayGraph graph = Mixed(400).Line();
  const ReplayNode& next = graph.nodes[1];
  ASSERT_EQ(next.join_count, 1);
  EXPECT_EQ(graph.joins[static_cast<size_t>(next.join_first)].node, 0);
  EXPECT_EQ(graph.joins[static_cast<size_t>(next.join_first)].at_share, 0);
  EXPECT_EQ(graph.nodes[2].join_count, 0);  // nobody waits for the one beside compute
}

// Four beside compute, of which the second and the third start right after the one before.
RankRows Queue() {
  RankRows rows;
  for (int64_t i = 0; i < 4; ++i) rows.Add(kBeside, 2, 100 * i, 100 * i + (i < 2 ? 95 : 60));
  return rows;
}

TEST(ReplayLine, AStartRightAfterAnEndOnItsStreamIsQueued) {
  const ReplayGraph graph = Queue().Line();
  std::vector<int32_t> queued;
  for (int32_t n = 0; n < 4; ++n) queued.push_back(graph.node(n).queued);
  EXPECT_THAT(queued, ElementsAre(-1, 0, 1, -1));
}

// A short collective that the work waits for, on a stream of its own, ends when the next gradient leaves.
TEST(ReplayLine, WhatEndsOnAnotherStreamJustThenIsNotTheCauseOfAQueuedStart) {
  RankRows rows;
  rows.Add(kBeside, 2, 0, 1'000);
  rows.CoverFrom(0, 950);
  rows.Add(kAlone, 1, 950, 1'002);
  rows.Add(kBeside, 2, 1'001, 2'000);
  rows.CoverFrom(1, 998);
  for (int64_t i = 0; i < 4; ++i) rows.Add(kAlone, 1, 2'200 + 200 * i, 2'250 + 200 * i);
  EXPECT_EQ(rows.Line().node(2).queued, 0);
}

TEST(ReplayLine, AQueueBesideWorkHidesWhereInTheWorkARowWasReady) {
  const ReplayGraph graph = Queue().Line();
  std::vector<bool> hidden;
  for (int32_t n = 0; n < 4; ++n) hidden.push_back(graph.node(n).place_hidden);
  EXPECT_THAT(hidden, ElementsAre(false, true, true, false));
}

TEST(ReplayLine, TheFirstRowOfAStepEndsAPiece) {
  RankRows rows;
  rows.Add(kAlone, 1, 0, 100);
  rows.Add(kBeside, 2, 200, 250);
  rows.SetStep(1);
  rows.Add(kBeside, 2, 400, 450);
  rows.Add(kAlone, 1, 1'000, 1'100);
  rows.Add(kAlone, 1, 2'000, 2'100);
  const ReplayGraph graph = rows.Line();
  std::vector<int32_t> piece;
  for (int32_t n = 0; n < 5; ++n) piece.push_back(graph.node(n).piece);
  EXPECT_THAT(piece, ElementsAre(0, 2, 2, 3, 4));
}

// Gradients that leave one after the other: that the work ended before does not make it the cause of the next start.
TEST(ReplayLine, AStartRightAfterAnEndThatTheWorkAwaitedIsQueuedWhereTheKindRunsBesideWork) {
  const auto queued_of_last = [](uint32_t communicator) {
    RankRows rows;
    for (int64_t i = 0; i < 3; ++i) rows.Add(communicator, 2, 1'000 * i, 1'000 * i + 100);
    rows.Add(communicator, 2, 3'000, 3'100);
    rows.Uncover();
    rows.Add(communicator, 2, 3'101, 3'200);
    return rows.Line().node(4).queued;
  };
  EXPECT_EQ(queued_of_last(kBeside), 3);
  EXPECT_EQ(queued_of_last(kAlone), -1);
}

}  // namespace
}  // namespace lockstep
