#include "analysis/metrics/arrivals/lateness.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/unit/analysis/metrics/timeline_run.h"

namespace lockstep {
namespace {

int64_t PartOf(const MemberLateness& member, LatenessPart part) { return member.times_m_ns[static_cast<size_t>(part)]; }

// The instance that the rank's row belongs to.
uint32_t InstanceOf(const GraphedRun& run, int32_t rank, size_t row) {
  return static_cast<uint32_t>(run.graph.ranks[static_cast<size_t>(rank)][row].instance);
}

// Every decomposed instance's parts sum to its lateness; gives how many members there were.
size_t ExpectExactSums(const GraphedRun& run) {
  size_t members = 0;
  for (uint32_t i = 0; i < run.matched.match.instances.size(); ++i) {
    const InstanceLateness lateness = DecomposeLateness(run.graph, run.matched.match, i);
    if (!lateness.decomposed) continue;
    const auto& matched = run.matched.match.instances[i].members;
    EXPECT_EQ(lateness.members.size(), matched.size());
    for (size_t m = 0; m < matched.size(); ++m) {
      const auto& parts = lateness.members[m].times_m_ns;
      EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), int64_t{0}), matched[m].lateness_times_m_ns);
      EXPECT_EQ(lateness.members[m].lateness_times_m_ns, matched[m].lateness_times_m_ns);
      ++members;
    }
  }
  return members;
}

TimelineRun RandomRun(unsigned seed, bool losses) {
  TimelineRun run(8, {{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 1, 2, 3, 4, 5, 6, 7}},
                  losses ? 4 : 8);
  std::mt19937 random(seed);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const auto loser = [&](int32_t rank) { return losses && draw(0, 9) == 0 ? rank : -1; };
  for (int step = 0; step < 10; ++step) {
    run.SetStep(step);
    for (int layer = 0; layer < 4; ++layer) {
      for (int32_t rank = 0; rank < 8; ++rank) {
        run.Work(rank, draw(50'000, 250'000));
        for (const LatenessPart part : {LatenessPart::kCopy, LatenessPart::kHost, LatenessPart::kLaunch,
                                        LatenessPart::kDependency, LatenessPart::kRest}) {
          run.Work(rank, draw(0, 9'000), part);
        }
      }
      run.Meet(0, draw(5'000, 20'000), loser(1));
      run.Meet(1, draw(5'000, 20'000), loser(6));
    }
    for (size_t rail = 2; rail < 6; ++rail) run.Meet(rail, draw(20'000, 90'000), loser(2));
    run.Meet(6, draw(5'000, 9'000), loser(3));
  }
  return run;
}

TEST(Lateness, PartsSumExactlyToTheLateness) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    EXPECT_GT(ExpectExactSums(MakeGraph(RandomRun(seed, false))), 400u);
  }
}

TEST(Lateness, PartsSumExactlyWhereRecordsAreLost) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    EXPECT_GT(ExpectExactSums(MakeGraph(RandomRun(seed, true), 2'000'000)), 300u);
  }
}

TEST(Lateness, EachPartIsItsExcessOverTheMean) {
  TimelineRun run(2, {{0, 1}});
  run.WorkAll(1'000);
  run.Meet(0, 5'000);
  run.Work(0, 100'000);
  run.Work(0, 40'000, LatenessPart::kHost);
  run.Work(1, 70'000);
  run.Work(1, 10'000, LatenessPart::kCopy);
  run.Meet(0, 5'000);
  const GraphedRun graphed = MakeGraph(run);
  const InstanceLateness lateness = DecomposeLateness(graphed.graph, graphed.matched.match, InstanceOf(graphed, 0, 1));
  ASSERT_TRUE(lateness.decomposed);
  EXPECT_EQ(PartOf(lateness.members[0], LatenessPart::kCompute), 30'000);  // times m = 2
  EXPECT_EQ(PartOf(lateness.members[0], LatenessPart::kHost), 40'000);
  EXPECT_EQ(PartOf(lateness.members[0], LatenessPart::kCopy), -10'000);
  EXPECT_EQ(PartOf(lateness.members[0], LatenessPart::kCarryIn), 0);
  EXPECT_EQ(PartOf(lateness.members[1], LatenessPart::kCompute), -30'000);
}

TEST(Lateness, OtherCommunicationIsSplitWhereItsLastMemberCame) {
  // Ranks 0 and 2 meet across; between, rank 0 waits 60 us for rank 1 in a transfer of 7 us, rank 2 not at all.
  TimelineRun run(4, {{0, 2}, {0, 1}, {2, 3}});
  run.WorkAll(1'000);
  run.Meet(0, 5'000);
  run.Meet(1, 5'000);
  run.Meet(2, 5'000);
  run.WorkAll(50'000);
  run.Work(1, 60'000);
  run.Meet(1, 7'000);
  run.Meet(2, 7'000);
  run.Meet(0, 5'000);
  const GraphedRun graphed = MakeGraph(run);
  const InstanceLateness lateness = DecomposeLateness(graphed.graph, graphed.matched.match, InstanceOf(graphed, 0, 3));
  ASSERT_TRUE(lateness.decomposed);
  EXPECT_EQ(PartOf(lateness.members[0], LatenessPart::kWait), 60'000);
  EXPECT_EQ(PartOf(lateness.members[0], LatenessPart::kTransfer), 0);
  EXPECT_EQ(PartOf(lateness.members[0], LatenessPart::kCompute), 0);
}

TEST(Lateness, TheFirstInstanceOfACommunicatorIsNotDecomposed) {
  TimelineRun run(2, {{0, 1}});
  run.WorkAll(1'000);
  run.Meet(0, 5'000);
  const GraphedRun graphed = MakeGraph(run);
  EXPECT_FALSE(DecomposeLateness(graphed.graph, graphed.matched.match, InstanceOf(graphed, 0, 0)).decomposed);
}

TEST(Lateness, AMemberThatLostTheInstanceBeforeIsNotToldAndBlursNobody) {
  TimelineRun run(4, {{0, 1, 2, 3}});
  run.WorkAll(1'000);
  run.Meet(0, 5'000);
  run.WorkAll(50'000);
  run.Meet(0, 5'000, 3);
  run.WorkAll(50'000);
  run.Work(0, 8'000);
  run.Meet(0, 5'000);
  const GraphedRun graphed = MakeGraph(run);
  const InstanceLateness lateness = DecomposeLateness(graphed.graph, graphed.matched.match, InstanceOf(graphed, 0, 2));
  ASSERT_TRUE(lateness.decomposed);
  EXPECT_TRUE(lateness.members[0].told);
  EXPECT_FALSE(lateness.members[3].told);
  // Against the mean of the told ones, to a few ns: (8000 - 8000/3) of four members' sum.
  EXPECT_NEAR(static_cast<double>(PartOf(lateness.members[0], LatenessPart::kCompute)), 4 * 8'000 * (1 - 1.0 / 3), 8);
  EXPECT_NEAR(static_cast<double>(PartOf(lateness.members[3], LatenessPart::kCompute)), 0, 8);
}

TEST(Lateness, APairLooksBackToTheInstanceThatBothSaw) {
  // Ranks 0 and 1 share the communicator's first and third instance; rank 1 lost the second.
  TimelineRun run(2, {{0, 1}});
  run.WorkAll(1'000);
  run.Meet(0, 5'000);
  run.WorkAll(50'000);
  run.Meet(0, 5'000, 1);
  run.WorkAll(50'000);
  run.Work(0, 9'000);
  run.Meet(0, 5'000);
  const GraphedRun graphed = MakeGraph(run);
  const InstanceLateness lateness = DecomposeLateness(graphed.graph, graphed.matched.match, InstanceOf(graphed, 0, 2));
  ASSERT_TRUE(lateness.decomposed);
  EXPECT_TRUE(lateness.members[0].told);
  EXPECT_EQ(PartOf(lateness.members[0], LatenessPart::kCompute), 9'000);
}

TEST(Lateness, APairLooksBackBeyondAReduceThatDoesNotTieIt) {
  TimelineRun run(2, {{0, 1}});
  run.WorkAll(1'000);
  run.Meet(0, 5'000);
  run.Work(1, 90'000, LatenessPart::kHost);
  run.WorkAll(50'000);
  run.Reduce(0, 5'000, 1);
  run.WorkAll(50'000);
  run.Meet(0, 5'000);
  const GraphedRun graphed = MakeGraph(run);
  const InstanceLateness lateness = DecomposeLateness(graphed.graph, graphed.matched.match, InstanceOf(graphed, 0, 2));
  ASSERT_TRUE(lateness.decomposed);
  EXPECT_EQ(PartOf(lateness.members[1], LatenessPart::kHost), 90'000);
  EXPECT_EQ(PartOf(lateness.members[1], LatenessPart::kCarryIn), 0);
}

}  // namespace
}  // namespace lockstep
