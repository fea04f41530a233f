#include "analysis/metrics/skew.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/metrics/matched_run.h"
#include "tests/unit/analysis/metrics/random_run.h"

namespace lockstep {
namespace {

constexpr int64_t kUs = 1'000;

bool All(const MatchedInstance&) { return true; }

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
  const SkewTotals totals = ComputeSkew(LateRankTwo().match, 4, All);
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
    const SkewTotals totals = ComputeSkew(Match(builder).match, 4, All);
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

TEST(Skew, LatenessIsSignedAndSumsToZeroOverTheMembers) {
  const SkewTotals totals = ComputeSkew(LateRankTwo().match, 4, All);
  EXPECT_EQ(totals.ranks[2].lateness_ns.min(), 59'900);
  EXPECT_LT(totals.ranks[0].lateness_ns.max(), 0);
}

TEST(Skew, UnselectedInstancesDoNotCount) {
  const SkewTotals totals = ComputeSkew(LateRankTwo().match, 4, [](const MatchedInstance& i) { return i.index < 5; });
  EXPECT_EQ(totals.ranks[2].last_arrivals, 5);
  EXPECT_EQ(totals.ranks[0].instances, 5);
}

}  // namespace
}  // namespace lockstep
