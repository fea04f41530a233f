#include "bench/accuracy/figure.h"

#include <gtest/gtest.h>

#include <random>

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

// Of so many clusters, each with this many trials and a share of hits of its own.
Count DrawClusters(int clusters, int trials, double spread, std::mt19937_64& random) {
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  Score all;
  for (int c = 0; c < clusters; ++c) {
    const double share = 0.9 + spread * (uniform() - 0.5);
    Score cluster;
    for (int t = 0; t < trials; ++t) cluster.Count("x", uniform() < share);
    all.Merge(cluster);
  }
  return all.counts().at("x");
}

TEST(EffectiveTrials, OfAllOrNothingClustersAreTheClusters) {
  Score all;
  for (int c = 0; c < 60; ++c) {
    Score cluster;
    cluster.Count("x", c % 10 == 0 ? 0 : 32, 32);
    all.Merge(cluster);
  }
  const Count& count = all.counts().at("x");
  EXPECT_EQ(count.trials, 60 * 32);
  EXPECT_NEAR(EffectiveTrials(count), 59, 1e-9) << "60, of which the mean takes one";
}

TEST(EffectiveTrials, AreNoMoreThanThereAre) {
  EXPECT_EQ(EffectiveTrials({90, 100}), 100) << "of one cluster";
  std::mt19937_64 random(3);
  for (int i = 0; i < 50; ++i) {
    const Count count = DrawClusters(40, 25, 0, random);
    EXPECT_LE(EffectiveTrials(count), 1'000);
    EXPECT_GE(EffectiveTrials(count), 400) << "independent trials count nearly all";
  }
}

// The interval is what it says for trials that share the luck of their cluster; that of so many independent trials is
// not.
TEST(SeenInterval, HoldsTheTrueShareOfClusteredTrials) {
  constexpr int kExperiments = 1'000;
  std::mt19937_64 random(7);
  int held = 0;
  int held_as_if_independent = 0;
  for (int i = 0; i < kExperiments; ++i) {
    const Count count = DrawClusters(60, 64, 0.2, random);
    const Interval seen = SeenInterval(count);
    const Interval narrow = ClopperPearson(static_cast<double>(count.hits), static_cast<double>(count.trials));
    held += seen.lo <= 0.9 && 0.9 <= seen.hi ? 1 : 0;
    held_as_if_independent += narrow.lo <= 0.9 && 0.9 <= narrow.hi ? 1 : 0;
  }
  EXPECT_NEAR(held / static_cast<double>(kExperiments), 0.95, 0.025);
  EXPECT_LT(held_as_if_independent, 0.85 * kExperiments);
}

TEST(Percentile, IsAnOrderStatistic) {
  EXPECT_EQ(Percentile({4, 1, 3, 2}, 0.5), 2);
  EXPECT_EQ(Percentile({4, 1, 3, 2}, 1), 4);
  EXPECT_EQ(Percentile({}, 0.5), 0);
}

}  // namespace
}  // namespace lockstep
