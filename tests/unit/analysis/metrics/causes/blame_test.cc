#include "analysis/metrics/causes/blame.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "analysis/metrics/causes/blame_weights.h"
#include "tests/unit/analysis/metrics/timeline_run.h"

namespace lockstep {
namespace {

// Two tensor-parallel pairs, two data-parallel pairs across, and all four: {0, 1}, {2, 3}, {0, 2}, {1, 3}, {0, 1, 2,
// 3}.
TimelineRun EmptyGrid() { return TimelineRun(4, {{0, 1}, {2, 3}, {0, 2}, {1, 3}, {0, 1, 2, 3}}); }

constexpr int kBlameSteps = 30;

// Each step: two layers in the pairs, then across. `trouble` is called before each layer.
template <typename Trouble>
TimelineRun RunGrid(Trouble trouble, unsigned noise_seed = 0) {
  TimelineRun run = EmptyGrid();
  std::mt19937 random(noise_seed);
  const auto noise = [&] { return noise_seed == 0 ? 0 : std::uniform_int_distribution<int64_t>(0, 4'000)(random); };
  for (int step = 0; step < kBlameSteps; ++step) {
    run.SetStep(step);
    for (int layer = 0; layer < 2; ++layer) {
      for (int32_t rank = 0; rank < 4; ++rank) run.Work(rank, 1'000'000 + noise());
      trouble(run, step, layer);
      run.Meet(0, 20'000);
      run.Meet(1, 20'000);
    }
    run.Meet(2, 100'000);
    run.Meet(3, 100'000);
  }
  return run;
}

BlameResult BlameOf(const GraphedRun& run) { return PropagateBlame(run.graph, run.matched.match); }

int64_t WaitOn(const BlameResult& blame, int32_t rank, LatenessPart part) {
  for (const BlameShare& share : blame.shares) {
    if (share.rank_index == rank && share.part == part) return share.wait_ns;
  }
  return 0;
}

int64_t SumOfShares(const BlameResult& blame) {
  return std::accumulate(blame.shares.begin(), blame.shares.end(), int64_t{0},
                         [](int64_t sum, const BlameShare& share) { return sum + share.wait_ns; });
}

TEST(Blame, WhatIsBlamedOnRanksAndOnTransfersIsSummedApart) {
  BlameResult blame;
  blame.shares = {{1, -1, LatenessPart::kHost, 30, 3},
                  {1, -1, LatenessPart::kCompute, 20, 2},
                  {2, -1, LatenessPart::kHost, 10, 1},
                  {-1, 1, LatenessPart::kTransfer, 5, 4},
                  {-1, -1, LatenessPart::kRest, 100, 100}};
  EXPECT_EQ(BlameOn(blame, {1}, {}).wait_ns, 50);
  EXPECT_EQ(BlameOn(blame, {1}, {}).critical_ns, 5);
  EXPECT_EQ(BlameOn(blame, {1, 2}, {}).wait_ns, 60);
  EXPECT_EQ(BlameOn(blame, {1, 2}, {1}).wait_ns, 5);
}

TEST(Blame, WaitsAcrossAreBlamedOnTheRankThatHeldItsPairUp) {
  // Rank 1 works longer; rank 0 waits for it in their pair, so 0 and 1 come late to the meetings with 2 and 3.
  const GraphedRun run = MakeGraph(RunGrid([](TimelineRun& r, int, int) { r.Work(1, 60'000); }));
  const BlameResult blame = BlameOf(run);
  ASSERT_FALSE(blame.shares.empty());
  EXPECT_EQ(blame.shares.front().rank_index, 1);
  EXPECT_EQ(blame.shares.front().part, LatenessPart::kCompute);
  // A step: 2 x 60 us in the pair, 120 us of each of two ranks across. The first step has nothing to compare with, the
  // next pair's meeting neither.
  EXPECT_GE(blame.shares.front().wait_ns, (kBlameSteps - 2) * int64_t{360'000});
  EXPECT_EQ(blame.shares.front().wait_ns + blame.unassigned_ns, blame.total_wait_ns);
}

TEST(Blame, LandsOnTheOriginThroughThreeCommunicators) {
  // 0 and 1 meet; then 1 and 2; then 2 and 3: what 0 is late, 3 waits for.
  TimelineRun run(4, {{0, 1}, {1, 2}, {2, 3}});
  for (int step = 0; step < kBlameSteps; ++step) {
    run.SetStep(step);
    run.WorkAll(500'000);
    run.Work(0, 80'000, LatenessPart::kHost);
    run.Meet(0, 10'000);
    run.Meet(1, 10'000);
    run.Meet(2, 10'000);
  }
  const GraphedRun graphed = MakeGraph(run);
  const BlameResult blame = BlameOf(graphed);
  ASSERT_FALSE(blame.shares.empty());
  EXPECT_EQ(blame.shares.front().rank_index, 0);
  EXPECT_EQ(blame.shares.front().part, LatenessPart::kHost);
  // Of all waits in the chain, structural ones (3 comes first each time) included, none goes to 1 or 2 beyond those.
  EXPECT_GT(blame.shares.front().wait_ns, blame.total_wait_ns / 2);
}

TEST(Blame, TheKindOfTheOriginsOwnTroubleIsKept) {
  for (const LatenessPart part : {LatenessPart::kCompute, LatenessPart::kCopy, LatenessPart::kHost,
                                  LatenessPart::kLaunch, LatenessPart::kDependency, LatenessPart::kRest}) {
    const GraphedRun run =
        MakeGraph(RunGrid([&](TimelineRun& r, int, int layer) { r.Work(3, layer == 0 ? 90'000 : 0, part); }, 7));
    const BlameResult blame = BlameOf(run);
    ASSERT_FALSE(blame.shares.empty());
    EXPECT_EQ(blame.shares.front().rank_index, 3) << Name(part);
    EXPECT_EQ(blame.shares.front().part, part);
    EXPECT_GT(WaitOn(blame, 3, part), blame.total_wait_ns * 8 / 10) << Name(part);
  }
}

// Nobody works longer; the transfer between 0 and 2 takes longer than that between 1 and 3.
TimelineRun RunWithALongTransfer() {
  TimelineRun run = EmptyGrid();
  for (int step = 0; step < kBlameSteps; ++step) {
    run.SetStep(step);
    run.WorkAll(1'000'000);
    run.Meet(2, 300'000);
    run.Meet(3, 100'000);
    run.Meet(0, 20'000);
    run.Meet(1, 20'000);
  }
  return run;
}

TEST(Blame, ASlowTransferIsBlamedOnItsCommunicatorAndOnNoRank) {
  const GraphedRun graphed = MakeGraph(RunWithALongTransfer());
  const BlameResult blame = BlameOf(graphed);
  ASSERT_FALSE(blame.shares.empty());
  EXPECT_EQ(blame.shares.front().rank_index, -1);
  EXPECT_EQ(blame.shares.front().part, LatenessPart::kTransfer);
  ASSERT_GE(blame.shares.front().communicator, 0);
  const Communicator& slow =
      graphed.matched.match.communicators[static_cast<size_t>(blame.shares.front().communicator)];
  EXPECT_EQ(slow.members, (std::vector<int32_t>{0, 2}));
  EXPECT_TRUE(BlameByRank(blame).empty());
}

TEST(Blame, ATransferInWhichTheRankMayHaveWaitedIsNoSlowTransfer) {
  GraphedRun graphed = MakeGraph(RunWithALongTransfer());
  for (MatchedInstance& instance : graphed.matched.match.instances) {
    for (MatchedMember& member : instance.members) member.latest_arrival_ns = kNeverArrived;
  }
  const BlameResult blame = BlameOf(graphed);
  ASSERT_FALSE(blame.shares.empty());
  for (const BlameShare& share : blame.shares) EXPECT_LT(share.communicator, 0);
  EXPECT_EQ(SumOfShares(blame) + blame.unassigned_ns, blame.total_wait_ns);
}

TEST(Blame, SharesAndWhatIsUnassignedSumToAllWaits) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const GraphedRun run = MakeGraph(RunGrid([](TimelineRun&, int, int) {}, seed));
    const BlameResult blame = BlameOf(run);
    int64_t waits = 0;
    for (const MatchedInstance& instance : run.matched.match.instances) {
      for (const MatchedMember& m : instance.members) waits += instance.usable() ? m.wait_ns : 0;
    }
    EXPECT_EQ(blame.total_wait_ns, waits);
    EXPECT_EQ(SumOfShares(blame) + blame.unassigned_ns, waits);
  }
}

TEST(Blame, WaitsBelowTheUncertaintyAreBlamedOnNobody) {
  GraphedRun run = MakeGraph(RunGrid([](TimelineRun& r, int, int) { r.Work(1, 60'000); }));
  for (MatchedInstance& instance : run.matched.match.instances) instance.resolvable = false;
  const BlameResult blame = BlameOf(run);
  EXPECT_TRUE(blame.shares.empty());
  EXPECT_GT(blame.total_wait_ns, 0);
  EXPECT_EQ(blame.unassigned_ns, blame.total_wait_ns);
}

TEST(Blame, CriticalTimeIsTheSoloDamageOfTheLastOne) {
  TimelineRun run(4, {{0, 1, 2, 3}});
  run.WorkAll(1'000);
  run.Meet(0, 5'000);
  run.WorkAll(100'000);
  run.Work(1, 50'000);
  run.Work(2, 30'000);
  run.Meet(0, 5'000);
  const GraphedRun graphed = MakeGraph(run);
  const BlameResult blame = BlameOf(graphed);
  ASSERT_EQ(blame.shares.size(), 1u);
  EXPECT_EQ(blame.shares[0].rank_index, 1);
  EXPECT_EQ(blame.shares[0].wait_ns, 50'000 + 50'000 + 20'000);
  EXPECT_EQ(blame.shares[0].critical_ns, 20'000);
}

TEST(Blame, RanksAreOrderedByAllTheirParts) {
  BlameResult blame;
  blame.shares = {{-1, 3, LatenessPart::kTransfer, 900, 9},
                  {2, -1, LatenessPart::kCompute, 500, 5},
                  {1, -1, LatenessPart::kHost, 400, 4},
                  {1, -1, LatenessPart::kCompute, 300, 3}};
  const std::vector<RankBlame> ranks = BlameByRank(blame);
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0].rank_index, 1);
  EXPECT_EQ(ranks[0].wait_ns, 700);
  EXPECT_EQ(ranks[0].main_part, LatenessPart::kHost);
  EXPECT_EQ(ranks[1].critical_ns, 5);
}

TEST(Blame, OrderOfTheExecutorChangesNothing) {
  const TimelineRun timeline = RunGrid([](TimelineRun& r, int, int) { r.Work(1, 6'000); }, 3);
  const BlameResult one = BlameOf(MakeGraph(timeline, 0, false));
  const BlameResult other = BlameOf(MakeGraph(timeline, 0, true));
  ASSERT_EQ(one.shares.size(), other.shares.size());
  for (size_t i = 0; i < one.shares.size(); ++i) {
    EXPECT_EQ(one.shares[i].rank_index, other.shares[i].rank_index);
    EXPECT_EQ(one.shares[i].wait_ns, other.shares[i].wait_ns);
    EXPECT_EQ(one.shares[i].critical_ns, other.shares[i].critical_ns);
  }
}

TEST(BlameWeights, WeightsSumToOneWhateverIsCutOff) {
  WeightSum sum;
  for (int32_t rank = 0; rank < 100; ++rank) sum.Add({rank, -1, LatenessPart::kHost}, 3 * rank + 1);
  const Weights weights = sum.Take(32);
  ASSERT_EQ(weights.size(), 33u);
  int64_t total = 0;
  for (const Weight& w : weights) total += w.weight;
  EXPECT_EQ(total, kWeightOne);
  EXPECT_EQ(weights.front().origin.rank_index, 99);
  EXPECT_EQ(weights.back().origin, Origin{});
}

TEST(BlameWeights, HugeSharesDoNotOverflow) {
  WeightSum sum;
  sum.Add({1, -1, LatenessPart::kHost}, INT64_MAX);
  sum.Add({2, -1, LatenessPart::kHost}, INT64_MAX);
  const Weights weights = sum.Take(32);
  ASSERT_GE(weights.size(), 2u);
  EXPECT_EQ(weights[0].weight, kWeightOne / 2);
}

TEST(BlameWeights, RoundingKeepsTheSum) {
  const int128 third = int128{kWeightOne} / 3;
  const std::vector<int128> values = {third, third, int128{kWeightOne} * 2 - 2 * third, int128{kWeightOne} * 5};
  const std::vector<int64_t> rounded = RoundToSum(values);
  EXPECT_EQ(std::accumulate(rounded.begin(), rounded.end(), int64_t{0}), 7);
  EXPECT_EQ(rounded[3], 5);
}

}  // namespace
}  // namespace lockstep
