#include "analysis/metrics/skew/collectives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "analysis/model/instance_row.h"
#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/matched_run.h"

namespace lockstep {
namespace {

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
  const auto rows = ComputeCollectives(run.match, EveryInstance);
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
  const auto rows = ComputeCollectives(Match(builder).match, EveryInstance);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].bytes, 16);
  EXPECT_EQ(rows[0].instances, 1);
  EXPECT_EQ(rows[0].matched, 0);
  EXPECT_EQ(rows[0].kind, MatchKind::kNone);
  EXPECT_FALSE(rows[0].confidence.has_value());
}

// Instances of one communicator of eight ranks with the given transfer, all ranks arriving within a microsecond.
void AddLowSkew(MatchResult& match, int64_t transfer_ns) {
  const auto communicator = static_cast<uint32_t>(match.communicators.size());
  match.communicators.push_back({.id = std::to_string(communicator), .members = {0, 1, 2, 3, 4, 5, 6, 7}, .size = 8});
  for (int64_t i = 0; i < 10; ++i) {
    MatchedInstance instance;
    instance.communicator = communicator;
    instance.op = CollectiveOp::kAllReduce;
    instance.bytes = 1'000;
    instance.complete = instance.comparable = true;
    instance.confidence = 1;
    instance.members.resize(8);
    instance.transfer_ns = transfer_ns;
    instance.spread_ns = 1;
    instance.uncertainty_ns = 1;
    match.instances.push_back(std::move(instance));
  }
}

TEST(Collectives, ASlowRailStandsOutAgainstGroupsOfEqualSize) {
  MatchResult match;
  for (const int64_t transfer_us : {100, 101, 99, 100, 160}) AddLowSkew(match, transfer_us * kUs);
  for (const CollectiveRowResult& row : ComputeCollectives(match, EveryInstance)) {
    ASSERT_TRUE(row.transfer_excess.has_value());
    EXPECT_NEAR(static_cast<double>(*row.transfer_baseline_ns), 100 * kUs, 1.0 * kUs);
    EXPECT_NEAR(*row.transfer_excess, row.communicator == 4 ? 0.6 : 0, 0.011);
  }
}

TEST(Collectives, OfTwoGroupsTheSlowOneIsMeasuredAgainstTheOther) {
  MatchResult match;
  for (const int64_t transfer_us : {100, 160}) AddLowSkew(match, transfer_us * kUs);
  for (const CollectiveRowResult& row : ComputeCollectives(match, EveryInstance)) {
    EXPECT_NEAR(row.transfer_excess.value(), row.communicator == 1 ? 0.6 : -0.375, 0.011);
  }
}

TEST(Collectives, WithoutInstancesOfLowSkewThereIsNoBaseline) {
  const CollectiveRowResult row = OnlyRow(Uniform(500 * kUs, 40 * kUs));
  EXPECT_FALSE(row.transfer_baseline_ns.has_value());
  EXPECT_FALSE(row.transfer_excess.has_value());
}

// Eight ranks arrive over a millisecond; ends scatter by a microsecond; the clock of the last four is off by
// `error_ns`.
ClockFreeCheck Scattered(int64_t error_ns, int64_t uncertainty_ns) {
  ClockFreeCheck check;
  uint64_t draw = 1;
  const auto next = [&](uint64_t below) {
    return static_cast<int64_t>((draw = draw * 6364136223846793005U + 1) >> 33U) % static_cast<int64_t>(below);
  };
  for (int i = 0; i < 50; ++i) {
    MatchedInstance instance;
    instance.all_pairs = instance.complete = instance.comparable = true;
    int64_t last = 0;
    for (int32_t r = 0; r < 8; ++r) {
      MatchedMember member;
      member.rank_index = r;
      member.start_ns = next(1'000 * kUs);
      last = std::max(last, member.start_ns);
      instance.members.push_back(member);
    }
    instance.spread_ns = last;
    instance.shortest_duration_ns = INT64_MAX;
    for (MatchedMember& m : instance.members) {
      m.wait_ns = last - m.start_ns + (m.rank_index < 4 ? 0 : error_ns);
      m.wait_uncertainty_ns = uncertainty_ns;
      m.end_ns = last + 20 * kUs + next(1 * kUs);
      instance.shortest_duration_ns = std::min(instance.shortest_duration_ns, m.end_ns - m.start_ns);
    }
    check.Add(instance);
  }
  return check;
}

TEST(ClockFree, DurationsAloneTellTheWaits) {
  const auto waits = Scattered(0, 2 * kUs).Finish();
  ASSERT_TRUE(waits.has_value());
  EXPECT_EQ(waits->instances, 50);
  EXPECT_LT(waits->end_sigma_ns, 1 * kUs);
  EXPECT_LE(std::abs(waits->wait_total_ns - waits->aligned_wait_total_ns), waits->uncertainty_ns);
  EXPECT_TRUE(waits->Agrees());
}

TEST(ClockFree, AWrongClockDisagreesWithTheDurations) {
  const auto waits = Scattered(40 * kUs, 2 * kUs).Finish();
  ASSERT_TRUE(waits.has_value());
  EXPECT_FALSE(waits->Agrees());
}

TEST(ClockFree, TheDurationsAreFinerThanAnUncertainClock) {
  EXPECT_TRUE(Scattered(0, 30 * kUs).Finish()->Finer());
  EXPECT_FALSE(Scattered(0, 100).Finish()->Finer());
}

TEST(ClockFree, SpreadsWithinTheScatterOfTheEndsAreNotValid) {
  ClockFreeCheck check;
  for (int64_t i = 0; i < 20; ++i) {
    MatchedInstance instance;
    instance.all_pairs = instance.complete = true;
    instance.spread_ns = 10 * kUs;
    instance.members.resize(2);
    for (size_t m = 0; m < 2; ++m) instance.members[m].end_ns = 100 * kUs + static_cast<int64_t>(m) * 30 * kUs;
    check.Add(instance);
  }
  EXPECT_FALSE(check.Finish().has_value());
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
