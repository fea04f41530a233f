#include "analysis/metrics/summary/summary.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/metrics/fleet_fixture.h"
#include "tests/unit/analysis/metrics/summary/late_arrivals.h"

namespace lockstep {
namespace {

// Ranks of one step of 10,000 ns; rank r computes compute[r].
FleetFixture Fixture(const std::vector<int64_t>& compute_ns) {
  RunBuilder run;
  for (size_t r = 0; r < compute_ns.size(); ++r) {
    auto& rank = run.AddRank(static_cast<int32_t>(r));
    rank.Kernel("gemm", {compute_ns[r]});
    StepRow& step = rank.Step(1, 0, 10'000);
    step.kernels = 1;
    step.tile.compute_ns = compute_ns[r];
    step.tile.idle_other_ns = 10'000 - compute_ns[r];
    rank.Window(0, 10'000);
  }
  return FleetFixture(run);
}

// Everybody but `last` waits so long.
MatchedInstance Waiting(int32_t last, int64_t wait_ns, bool certain = true) {
  MatchedInstance instance;
  instance.confidence = 1;
  instance.comparable = true;
  instance.all_pairs = true;
  instance.last_rank_index = last;
  instance.last_certain = certain;
  for (int32_t r = 0; r < 3; ++r) {
    const int64_t wait = r == last ? 0 : wait_ns;
    instance.members.push_back({r, 0, wait_ns - wait, wait_ns + 10, wait_ns, wait, 0});
  }
  return instance;
}

WaitBlame Blame(FleetFixture& fixture) {
  const FleetMeasures measures = fixture.Measure();
  const Fleet fleet = fixture.Make();
  return ComputeWaitBlame(fleet, measures, ComputeImbalance(fleet, measures), LateOf(fixture.match));
}

TEST(WaitBlame, NamesTheRankThatMakesTheOthersWait) {
  FleetFixture fixture = Fixture({1'000, 1'000, 2'000});
  fixture.match.instances = {Waiting(2, 1'000), Waiting(0, 10)};
  const WaitBlame blame = Blame(fixture);
  ASSERT_EQ(blame.culprits.size(), 1u);
  EXPECT_EQ(blame.culprits[0].member, 2u);
  EXPECT_EQ(blame.culprits[0].caused_wait_ns, 2'000);
  EXPECT_DOUBLE_EQ(blame.culprits[0].share_of_wait, 2'000 / 2'020.0);
  EXPECT_EQ(blame.culprits[0].cause, "slow_compute");
}

TEST(WaitBlame, CausedAndUnassignedSumToAllWaiting) {
  FleetFixture fixture = Fixture({1'000, 1'000, 1'000});
  fixture.match.instances = {Waiting(2, 1'000), Waiting(1, 300), Waiting(0, 70, false)};
  const WaitBlame blame = Blame(fixture);
  EXPECT_EQ(blame.wait_ns, 2'740);
  EXPECT_EQ(blame.unassigned_ns, 140);
}

// Rank 2 is late in instances that begin at these times of 10,000 ns.
std::optional<std::pair<int64_t, int64_t>> StretchOfLateness(const std::vector<int64_t>& starts) {
  FleetFixture fixture = Fixture({1'000, 1'000, 1'000});
  fixture.match.instances = {Waiting(0, 1)};  // times count from the first instance
  for (const int64_t start : starts) {
    MatchedInstance instance = Waiting(2, 100);
    instance.last_start_ns = start;
    fixture.match.instances.push_back(instance);
  }
  const WaitBlame blame = Blame(fixture);
  return blame.culprits.at(0).stretch_ns;
}

TEST(WaitBlame, AShortStretchInWhichNearlyAllOfItLiesIsTold) {
  std::vector<int64_t> starts;
  for (int64_t t = 6'000; t < 7'500; t += 100) starts.push_back(t);
  const auto stretch = StretchOfLateness(starts);
  ASSERT_TRUE(stretch);
  EXPECT_LT(stretch->first, 6'000);
  EXPECT_GT(stretch->first, 5'500);
  EXPECT_GT(stretch->second, 7'400);
  EXPECT_LT(stretch->second, 8'000);
}

TEST(WaitBlame, OneHalfOfTheRunIsToldAndNotBeyondItsEnds) {
  std::vector<int64_t> starts;
  for (int64_t t = 0; t < 5'000; t += 100) starts.push_back(t);
  const auto stretch = StretchOfLateness(starts);
  ASSERT_TRUE(stretch);
  EXPECT_EQ(stretch->first, 0);
  EXPECT_GT(stretch->second, 5'000);
  EXPECT_LT(stretch->second, 6'000);
}

TEST(WaitBlame, LatenessAllOverTheRunIsNoStretch) {
  std::vector<int64_t> starts;
  for (int64_t t = 0; t < 10'000; t += 100) starts.push_back(t);
  EXPECT_FALSE(StretchOfLateness(starts));
}

TEST(WaitBlame, NamesNobodyForImmaterialWaiting) {
  FleetFixture fixture = Fixture({1'000, 1'000, 1'000});
  fixture.match.instances = {Waiting(2, 70)};  // 140 of 30,000 ns
  EXPECT_TRUE(Blame(fixture).culprits.empty());
}

TEST(WaitBlame, IsLessConfidentWhereTheLastIsUncertain) {
  FleetFixture fixture = Fixture({1'000, 1'000, 1'000});
  fixture.match.instances = {Waiting(2, 300), Waiting(2, 100, false)};
  EXPECT_DOUBLE_EQ(Blame(fixture).culprits.at(0).confidence, 0.75);
}

TEST(WaitBlame, LeavesOutInstancesThatCannotBeCompared) {
  FleetFixture fixture = Fixture({1'000, 1'000, 1'000});
  fixture.match.instances = {Waiting(2, 5'000)};
  fixture.match.instances[0].comparable = false;
  EXPECT_EQ(Blame(fixture).wait_ns, 0);
}

TEST(WaitBlame, TellsNoCauseWhenTheCulpritLooksLikeTheOthers) {
  FleetFixture fixture = Fixture({1'000, 1'000, 1'000});
  fixture.match.instances = {Waiting(2, 1'000)};
  EXPECT_EQ(Blame(fixture).culprits.at(0).cause, "");
}

TEST(TimeShare, SumsToOne) {
  FleetFixture fixture = Fixture({1'000, 3'000, 2'500});
  const auto share = ComputeTimeShare(fixture.Measure());
  ASSERT_TRUE(share.has_value());
  EXPECT_NEAR(share->compute + share->exposed_wait + share->exposed_transfer + share->exposed_unresolved + share->copy +
                  share->opaque + share->idle,
              1.0, 1e-12);
  EXPECT_NEAR(share->compute, 6'500 / 30'000.0, 1e-12);
}

TimeShare TimeShareOf(double compute, double wait, double transfer, double unresolved, double idle, double host) {
  return {compute, wait, transfer, unresolved, 0, 0, idle, host};
}

TEST(RunVerdict, FollowsTheLargestLoss) {
  EXPECT_EQ(ComputeVerdict(std::nullopt), RunVerdict::kInconclusive);
  EXPECT_EQ(ComputeVerdict(TimeShareOf(0.95, 0.05, 0, 0, 0, 0)), RunVerdict::kCompute);
  EXPECT_EQ(ComputeVerdict(TimeShareOf(0.5, 0.4, 0.05, 0, 0.05, 0)), RunVerdict::kSkew);
  EXPECT_EQ(ComputeVerdict(TimeShareOf(0.5, 0.05, 0.4, 0, 0.05, 0)), RunVerdict::kTransfer);
  EXPECT_EQ(ComputeVerdict(TimeShareOf(0.5, 0.2, 0.25, 0, 0.05, 0)), RunVerdict::kMixed);
  EXPECT_EQ(ComputeVerdict(TimeShareOf(0.5, 0.05, 0.05, 0.35, 0.05, 0)), RunVerdict::kInconclusive);
  EXPECT_EQ(ComputeVerdict(TimeShareOf(0.3, 0.05, 0.05, 0, 0.6, 0.4)), RunVerdict::kHost);
}

TEST(RunVerdict, OfTheTimeThatIsNotIdleIsOfWhatRuns) {
  const TimeShare share = TimeShareOf(0.06, 0.002, 0.001, 0, 0.937, 0.8);
  EXPECT_EQ(ComputeVerdict(share), RunVerdict::kHost);
  EXPECT_EQ(ComputeVerdict(BusyShare(share)), RunVerdict::kCompute);
  EXPECT_NEAR(BusyShare(share).compute, 0.06 / 0.063, 1e-12);
  EXPECT_EQ(BusyShare(TimeShareOf(0, 0, 0, 0, 1, 1)).idle, 1) << "nothing runs";
}

TEST(WorstProblems, AreThreeByWeight) {
  const std::vector<Gate> gates = {{"steps_found", false, "d", "f"},
                                   {"clock", false, "d", "f"},
                                   {"matching", true, "d", ""},
                                   {"kernels_present", false, "d", "f"},
                                   {"files_whole", false, "d", "f"}};
  const std::vector<Gate> worst = WorstProblems(gates);
  ASSERT_EQ(worst.size(), 3u);
  EXPECT_EQ(worst[0].name, "kernels_present");
  EXPECT_EQ(worst[1].name, "files_whole");
  EXPECT_EQ(worst[2].name, "clock");
}

}  // namespace
}  // namespace lockstep
