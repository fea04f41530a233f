#include "analysis/metrics/collectives.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/analysis/metrics/matched_run.h"

namespace lockstep {
namespace {

constexpr int64_t kUs = 1'000;

bool All(const MatchedInstance&) { return true; }

// Four ranks; the last arrives `late_ns` after the others, the transfer then takes `transfer_ns`.
MatchedRun Uniform(int64_t late_ns, int64_t transfer_ns, int64_t instances = 30) {
  RunBuilder builder;
  for (int32_t r = 0; r < 4; ++r) {
    auto& source = builder.AddRank(r).World(4);
    source.Group("0", {0, 1, 2, 3}, "default_pg");
    for (int64_t i = 0; i < instances; ++i) {
      const int64_t base = i * 5'000 * kUs + i * i % 7 * 30 * kUs;
      const int64_t start = base + (r == 3 ? late_ns : 0);
      InstanceRow& row = source.Collective(0, CollectiveOp::kAllReduce, start, base + late_ns + transfer_ns - start);
      row.bytes = 4'000'000;
      row.dtype = DataType::kFloat32;
      row.step = i / 3;
    }
  }
  return Match(builder);
}

CollectiveRowResult OnlyRow(const MatchedRun& run) {
  const auto rows = ComputeCollectives(run.match, All);
  EXPECT_EQ(rows.size(), 1U);
  return rows.at(0);
}

TEST(Collectives, ARowSumsUpItsInstances) {
  const CollectiveRowResult row = OnlyRow(Uniform(500 * kUs, 40 * kUs));
  EXPECT_EQ(row.instances, 30);
  EXPECT_EQ(row.matched, 30);
  EXPECT_TRUE(row.complete);
  EXPECT_EQ(row.kind, MatchKind::kOrder);
  EXPECT_GE(row.confidence.value_or(0), 0.99);
  EXPECT_EQ(row.wait_ns.count(), 120);
  EXPECT_EQ(row.wait_total_ns, 30 * 3 * 500 * kUs);
  EXPECT_EQ(row.transfer_ns.min(), 40 * kUs);
  EXPECT_EQ(row.spread_ns.max(), 500 * kUs);
}

TEST(Collectives, MostlyWaitingIsSkew) {
  const CollectiveRowResult row = OnlyRow(Uniform(500 * kUs, 40 * kUs));
  EXPECT_NEAR(*row.skew_share, 1500.0 / (1500 + 160), 1e-12);
  EXPECT_EQ(row.verdict, CollectiveVerdict::kSkew);
}

TEST(Collectives, MostlyMovingDataIsTransfer) {
  EXPECT_EQ(OnlyRow(Uniform(20 * kUs, 900 * kUs)).verdict, CollectiveVerdict::kTransfer);
}

TEST(Collectives, AThirdOfWaitingIsMixed) {
  EXPECT_EQ(OnlyRow(Uniform(300 * kUs, 450 * kUs)).verdict, CollectiveVerdict::kMixed);
}

TEST(Collectives, FourInstancesAreInconclusive) {
  EXPECT_EQ(OnlyRow(Uniform(500 * kUs, 40 * kUs, 4)).verdict, CollectiveVerdict::kInconclusive);
}

TEST(Collectives, WaitsBelowTheUncertaintyAreInconclusive) {
  EXPECT_EQ(OnlyRow(Uniform(1 * kUs, 900 * kUs)).verdict, CollectiveVerdict::kInconclusive);
}

TEST(Collectives, BusBandwidthCountsOnlyInstancesOfLowSkew) {
  const CollectiveRowResult skewed = OnlyRow(Uniform(500 * kUs, 40 * kUs));
  EXPECT_TRUE(skewed.bus_bandwidth.empty());
  const double apparent = 1.5 * 4e6 / 540e-6;
  EXPECT_EQ(skewed.apparent_bus_bandwidth.min(), std::llround(apparent));
  const CollectiveRowResult even = OnlyRow(Uniform(10 * kUs, 400 * kUs));
  EXPECT_EQ(even.bus_bandwidth.count(), 30);
  EXPECT_EQ(even.bus_bandwidth.max(), std::llround(1.5 * 4e6 / 400e-6));
}

TEST(Collectives, BusBytesFollowTheFactorsOfNcclTests) {
  EXPECT_DOUBLE_EQ(*BusBytes(CollectiveOp::kAllReduce, 800, 8), 800.0 * 2 * 7 / 8);
  EXPECT_DOUBLE_EQ(*BusBytes(CollectiveOp::kAllGather, 100, 8), 8 * 100.0 * 7 / 8);
  EXPECT_DOUBLE_EQ(*BusBytes(CollectiveOp::kReduceScatter, 100, 8), 8 * 100.0 * 7 / 8);
  EXPECT_DOUBLE_EQ(*BusBytes(CollectiveOp::kAllToAll, 800, 8), 800.0 * 7 / 8);
  EXPECT_DOUBLE_EQ(*BusBytes(CollectiveOp::kBroadcast, 800, 8), 800.0);
  EXPECT_FALSE(BusBytes(CollectiveOp::kBarrier, 800, 8).has_value());
  EXPECT_FALSE(BusBytes(CollectiveOp::kAllReduce, kUnknownBytes, 8).has_value());
}

TEST(Collectives, ASingleRankStillShowsItsRows) {
  RunBuilder builder;
  auto& source = builder.AddRank(0).World(2);
  source.Group("0", {0, 1});
  source.Collective(0, CollectiveOp::kAllReduce, 0, kUs).bytes = 16;
  source.Collective(0, CollectiveOp::kAllReduce, 9 * kUs, kUs).bytes = 32;
  const auto rows = ComputeCollectives(Match(builder).match, All);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].bytes, 16);
  EXPECT_EQ(rows[0].instances, 1);
  EXPECT_EQ(rows[0].matched, 0);
  EXPECT_EQ(rows[0].kind, MatchKind::kNone);
  EXPECT_FALSE(rows[0].confidence.has_value());
}

TEST(BlockBootstrap, EqualBlocksGiveAnIntervalOfNoWidth) {
  const auto interval = BootstrapShare(std::vector<ShareBlock>(10, {3, 1}));
  ASSERT_TRUE(interval.has_value());
  EXPECT_DOUBLE_EQ(interval->low, 0.75);
  EXPECT_DOUBLE_EQ(interval->high, 0.75);
}

TEST(BlockBootstrap, TheIntervalCoversTheShareAndNarrowsWithMoreBlocks) {
  std::vector<ShareBlock> few;
  std::vector<ShareBlock> many;
  for (int i = 0; i < 200; ++i) {
    const ShareBlock block = i % 2 == 0 ? ShareBlock{1, 3} : ShareBlock{3, 1};
    if (i < 10) few.push_back(block);
    many.push_back(block);
  }
  const auto wide = BootstrapShare(few);
  const auto narrow = BootstrapShare(many);
  EXPECT_TRUE(wide->low < 0.5 && wide->high > 0.5);
  EXPECT_TRUE(narrow->low < 0.5 && narrow->high > 0.5);
  EXPECT_LT(narrow->high - narrow->low, (wide->high - wide->low) / 2);
}

TEST(BlockBootstrap, NothingGivesNothing) {
  EXPECT_FALSE(BootstrapShare({}).has_value());
  EXPECT_FALSE(BootstrapShare({{0, 0}, {0, 0}}).has_value());
}

}  // namespace
}  // namespace lockstep
