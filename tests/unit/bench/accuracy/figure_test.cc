#include "bench/accuracy/figure.h"

#include <gtest/gtest.h>

#include "bench/accuracy/proportion.h"

namespace lockstep {
namespace {

// Published tables of the exact interval.
TEST(ClopperPearson, EqualsTheTables) {
  EXPECT_NEAR(ClopperPearson(0, 10).hi, 0.3085, 5e-5);
  EXPECT_EQ(ClopperPearson(0, 10).lo, 0);
  EXPECT_NEAR(ClopperPearson(5, 10).lo, 0.1871, 5e-5);
  EXPECT_NEAR(ClopperPearson(5, 10).hi, 0.8129, 5e-5);
  EXPECT_NEAR(ClopperPearson(10, 10).lo, 0.6915, 5e-5);
  EXPECT_NEAR(ClopperPearson(2, 600).hi, 0.01199, 2e-5);
}

TEST(ClopperPearson, WithoutTrialsSaysNothing) {
  EXPECT_EQ(ClopperPearson(0, 0).lo, 0);
  EXPECT_EQ(ClopperPearson(0, 0).hi, 1);
}

TEST(Judge, AnIntervalThatContainsTheTargetHolds) {
  const Claim claim{.name = "p", .target = 0.99};
  EXPECT_EQ(Judge(claim, {297, 300}), Verdict::kHeld);
  EXPECT_EQ(Judge(claim, {280, 300}), Verdict::kMissed);
}

TEST(Judge, FewTrialsAreNotEnoughUnlessTheyAlreadyMiss) {
  const Claim claim{.name = "p", .target = 0.99};
  EXPECT_EQ(Judge(claim, {20, 20}), Verdict::kNotEnoughTrials);
  EXPECT_EQ(Judge(claim, {0, 20}), Verdict::kMissed);
}

TEST(Judge, AnExactClaimHoldsOnlyWithoutAMiss) {
  const Claim claim{.name = "p", .kind = ClaimKind::kExact, .min_trials = 100};
  EXPECT_EQ(Judge(claim, {100'000, 100'000}), Verdict::kHeld);
  EXPECT_EQ(Judge(claim, {99'999, 100'000}), Verdict::kMissed);
}

TEST(Judge, AShareAboveItsBandMissesToo) {
  const Claim claim{.name = "p", .kind = ClaimKind::kBetween, .target = 0.9, .upper = 0.98};
  EXPECT_EQ(Judge(claim, {9'950, 10'000}), Verdict::kMissed);
  EXPECT_EQ(Judge(claim, {9'500, 10'000}), Verdict::kHeld);
  EXPECT_EQ(Judge(claim, {8'500, 10'000}), Verdict::kMissed);
}

TEST(MinTrials, AreThreeOverTheRate) {
  EXPECT_EQ(MinTrials({.name = "p", .target = 0.999}), 3'000);
  EXPECT_EQ(MinTrials({.name = "p", .target = 0.95}), 60);
}

TEST(Score, MergesInOrder) {
  Score a;
  a.Count("x", true);
  a.Value("v", 1);
  Score b;
  b.Count("x", 2, 5);
  b.Value("v", 2);
  a.Merge(b);
  EXPECT_EQ(a.counts().at("x").hits, 3);
  EXPECT_EQ(a.counts().at("x").trials, 6);
  EXPECT_EQ(a.values().at("v"), (std::vector<double>{1, 2}));
}

TEST(Percentile, IsAnOrderStatistic) {
  EXPECT_EQ(Percentile({4, 1, 3, 2}, 0.5), 2);
  EXPECT_EQ(Percentile({4, 1, 3, 2}, 1), 4);
  EXPECT_EQ(Percentile({}, 0.5), 0);
}

}  // namespace
}  // namespace lockstep
