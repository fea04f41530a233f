#include "analysis/report/views/waits_for.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

struct ThreeRanks : RunBuilder {
  ThreeRanks() {
    for (int32_t rank = 0; rank < 3; ++rank) AddRank(rank).Window(0, 1'000);
  }
};

// Three ranks, of which 0 and 1 have a group, and what rank 1 caused of 100 ns of waiting.
class WaitsFor : public testing::Test {
 protected:
  WaitsFor() : fixture_(ThreeRanks()) {
    fixture_.match.communicators.push_back({.id = "g", .name = "", .desc = "", .members = {0, 1}});
    late_.wait_ns = 100;
    late_.by_rank[1].caused_ns = 50;
    late_.by_rank[0].caused_ns = 10;
  }

  template <typename Waiting>
  std::optional<int32_t> For(const Waiting& waiting) {
    const FleetMeasures measures = fixture_.Measure();
    const Fleet fleet = fixture_.Make();
    InlineExecutor executor;
    std::vector<Notice> notices;
    const AnalysisContext context{
        fleet.run, fixture_.built().instances, fixture_.options, fixture_.ranks, fixture_.match, executor,
        0,         {true, true, true},         notices};
    const ViewInput input{context, fleet, measures};
    return MostAwaited(input, late_).By(waiting);
  }

  // A kernel of nine short instances and a long one on rank 0, which waits for so long.
  static TailRow Tail(int64_t wait_ns) {
    TailRow tail;
    tail.category = Category::kCommunication;
    for (int i = 0; i < 9; ++i) tail.durations.Add(10);
    tail.durations.Add(110);
    tail.wait.Add(wait_ns);
    tail.by_rank.emplace_back().excess_ns = 100;
    return tail;
  }

  FleetFixture fixture_;
  LateArrivalsSum late_;
};

TEST_F(WaitsFor, NamesTheRankThatCausedHalfOfAllWaiting) {
  EXPECT_EQ(For(size_t{0}), 1);
  late_.by_rank[1].caused_ns = 49;
  EXPECT_EQ(For(size_t{0}), std::nullopt);
}

TEST_F(WaitsFor, NobodyWaitsForHimselfOrForRanksOfOtherGroups) {
  EXPECT_EQ(For(size_t{1}), std::nullopt);
  EXPECT_EQ(For(size_t{2}), std::nullopt);
}

TEST_F(WaitsFor, WithoutWaitingNobodyIsNamed) {
  late_ = {};
  EXPECT_EQ(For(size_t{0}), std::nullopt);
}

TEST_F(WaitsFor, ATailWaitsIfWaitsAreHalfOfIt) {
  EXPECT_EQ(For(Tail(50)), 1);
  EXPECT_EQ(For(Tail(49)), std::nullopt);
}

TEST_F(WaitsFor, ATailOfComputeWaitsForNobody) {
  TailRow tail = Tail(100);
  tail.category = Category::kCompute;
  EXPECT_EQ(For(tail), std::nullopt);
}

}  // namespace
}  // namespace lockstep
