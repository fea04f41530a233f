#include "analysis/metrics/skew/skew.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/model/row_values.h"
#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/matched_run.h"
#include "tests/unit/analysis/metrics/random_run.h"

namespace lockstep {
namespace {

// Rank 2 is late by 80 us in every instance, the others start within a microsecond.
MatchedRun LateRankTwo() {
  RunBuilder builder;
  for (int32_t r = 0; r < 4; ++r) {
    auto& source = builder.AddRank(r).World(4);
    source.Group("0", {0, 1, 2, 3});
    for (int64_t i = 0; i < 20; ++i) {
      const int64_t start = i * 1'000 * kUs + i * i % 7 * 30 * kUs + (r == 2 ? 80'000 : r * 100);
      const int64_t end = i * 1'000 * kUs + i * i % 7 * 30 * kUs + 100'000 + r;
      source.Collective(0, CollectiveOp::kAllReduce, start, end - start);
    }
  }
  return Match(builder);
}

TEST(Skew, TheLateRankCausesAllTheWaiting) {
  const SkewTotals totals = ComputeSkew(LateRankTwo().match, 4, EveryInstance);
  EXPECT_EQ(totals.ranks[2].caused_wait_total_ns, 20 * (80'000 + 79'900 + 79'700));
  EXPECT_EQ(totals.ranks[2].last_arrivals, 20);
  EXPECT_EQ(totals.ranks[2].wait_total_ns, 0);
  EXPECT_EQ(totals.unassigned_wait_ns, 0);
  for (const size_t r : {0U, 1U, 3U}) EXPECT_EQ(totals.ranks[r].caused_wait_total_ns, 0);
}

TEST(Skew, CausedAndUnassignedWaitsAreAllTheWaits) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    RunShape shape;
    shape.groups = {{0, 1, 2, 3}, {1, 2}};
    shape.max_late_ns = 2'000;
    const RandomRun truth(shape, seed);
    RunBuilder builder;
    truth.Tell(builder, TraceForm::kMembers);
    const SkewTotals totals = ComputeSkew(Match(builder).match, 4, EveryInstance);
    int64_t caused = 0;
    int64_t waits = 0;
    for (const RankSkew& rank : totals.ranks) {
      caused += rank.caused_wait_total_ns;
      waits += rank.wait_total_ns;
    }
    EXPECT_GT(totals.unassigned_wait_ns, 0);
    EXPECT_EQ(caused + totals.unassigned_wait_ns, waits);
  }
}

TEST(Skew, LatenessIsRoundedHalfToEven) {
  MatchedInstance instance;
  instance.members.resize(2);
  const auto lateness = [&](int64_t times_two) {
    instance.members[0].lateness_times_m_ns = times_two;
    return LatenessNs(instance, instance.members[0]);
  };
  EXPECT_EQ(lateness(5), 2);
  EXPECT_EQ(lateness(7), 4);
  EXPECT_EQ(lateness(-5), -2);
  EXPECT_EQ(lateness(-7), -4);
  EXPECT_EQ(lateness(-6), -3);
  EXPECT_EQ(lateness(1), 0);
  EXPECT_EQ(lateness(-1), 0);
}

TEST(Skew, LatenessIsRoundedAlikeForGroupsOfAnySize) {
  for (const size_t members : {1, 2, 3, 4, 5, 7, 8, 12, 64, 100}) {
    MatchedInstance instance;
    instance.members.resize(members);
    for (int64_t times_m = -300; times_m <= 300; ++times_m) {
      instance.members[0].lateness_times_m_ns = times_m;
      const double exact = static_cast<double>(times_m) / static_cast<double>(members);
      EXPECT_EQ(LatenessNs(instance, instance.members[0]), std::llrint(exact)) << times_m << " / " << members;
    }
  }
}

TEST(Skew, LatenessIsSignedAndSumsToZeroOverTheMembers) {
  const SkewTotals totals = ComputeSkew(LateRankTwo().match, 4, EveryInstance);
  EXPECT_EQ(totals.ranks[2].lateness_ns.min(), 59'900);
  EXPECT_LT(totals.ranks[0].lateness_ns.max(), 0);
}

TEST(Skew, UnselectedInstancesDoNotCount) {
  const SkewTotals totals = ComputeSkew(LateRankTwo().match, 4, [](const MatchedInstance& i) { return i.index < 5; });
  EXPECT_EQ(totals.ranks[2].last_arrivals, 5);
  EXPECT_EQ(totals.ranks[0].instances, 5);
}

// A usable instance of two ranks of one step: the last certainly made the other wait, or not.
MatchedInstance PairOf(int64_t step, int32_t last, int64_t wait_ns, int64_t uncertainty_ns, bool certain = true) {
  MatchedInstance instance;
  instance.step = step;
  instance.confidence = 1;
  instance.comparable = true;
  instance.all_pairs = true;
  instance.spread_ns = wait_ns;
  instance.last_rank_index = last;
  instance.last_certain = certain;
  for (int32_t r = 0; r < 2; ++r) {
    MatchedMember member;
    member.rank_index = r;
    member.wait_ns = r == last ? 0 : wait_ns;
    member.wait_uncertainty_ns = r == last ? 0 : uncertainty_ns;
    instance.members.push_back(member);
  }
  return instance;
}

TEST(Skew, UncertaintiesOfWaitsAddUpBecauseErrorsOfClocksLast) {
  MatchResult match;
  for (int i = 0; i < 10; ++i) match.instances.push_back(PairOf(0, 1, 100, 7));
  const SkewTotals totals = ComputeSkew(match, 2, EveryInstance);
  EXPECT_EQ(totals.ranks[0].wait_total_ns, 1'000);
  EXPECT_EQ(totals.ranks[0].wait_uncertainty_ns, 70);
  EXPECT_EQ(totals.ranks[1].caused_wait_total_ns, 1'000);
  EXPECT_EQ(totals.ranks[1].caused_uncertainty_ns, 70);
  EXPECT_EQ(totals.ranks[0].wait_ns.count(), 10);
}

TEST(Skew, AStepNamesWhoCertainlyCausedMostOfItsWaiting) {
  MatchResult match;
  match.instances = {PairOf(4, 1, 100, 5), PairOf(4, 0, 150, 5), PairOf(4, 1, 90, 5), PairOf(2, 0, 10, 5)};
  const SkewTotals totals = ComputeSkew(match, 2, EveryInstance);
  ASSERT_EQ(totals.steps.size(), 2U);
  EXPECT_EQ(totals.steps[0].step, 2);
  EXPECT_EQ(totals.steps[1].instances, 3);
  EXPECT_EQ(totals.steps[1].wait_total_ns, 340);
  EXPECT_EQ(totals.steps[1].wait_uncertainty_ns, 15);
  EXPECT_EQ(totals.steps[1].worst_rank_index, 1);
  EXPECT_EQ(totals.steps[1].worst_caused_wait_ns, 190);
  EXPECT_EQ(totals.steps[1].spread_ns.max(), 150);
}

TEST(Skew, AStepWhoseLastArrivalsAreNotCertainNamesNobody) {
  MatchResult match;
  match.instances = {PairOf(1, 1, 100, 200, false)};
  const SkewTotals totals = ComputeSkew(match, 2, EveryInstance);
  ASSERT_EQ(totals.steps.size(), 1U);
  EXPECT_EQ(totals.steps[0].worst_rank_index, -1);
  EXPECT_EQ(totals.unassigned_wait_ns, 100);
}

TEST(Skew, InstancesWithoutAStepAreInNone) {
  MatchResult match;
  match.instances = {PairOf(kNoStep, 1, 100, 5)};
  const SkewTotals totals = ComputeSkew(match, 2, EveryInstance);
  EXPECT_TRUE(totals.steps.empty());
  EXPECT_EQ(totals.ranks[0].wait_total_ns, 100);
}

}  // namespace
}  // namespace lockstep
