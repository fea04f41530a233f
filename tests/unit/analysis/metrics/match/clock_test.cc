#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "analysis/metrics/clock_align/clock_model.h"
#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/matched_run.h"

namespace lockstep {
namespace {

// Two ranks of one host whose ends differ by `end_differences_ns[i]` in instance i.
MatchedRun TwoRanks(const std::vector<int64_t>& end_differences_ns) {
  RunBuilder builder;
  auto& a = builder.AddRank(0).World(2);
  auto& b = builder.AddRank(1).World(2);
  a.Group("0", {0, 1});
  b.Group("0", {0, 1});
  for (size_t i = 0; i < end_differences_ns.size(); ++i) {
    const int64_t start = static_cast<int64_t>(i) * 500 * kUs + static_cast<int64_t>(i * i % 5) * 20 * kUs;
    a.Collective(0, CollectiveOp::kAllReduce, start + 1, 100 * kUs);
    b.Collective(0, CollectiveOp::kAllReduce, start + 1, 100 * kUs + end_differences_ns[i]);
  }
  return Match(builder);
}

TEST(ClockModel, DomainsAreNotComparable) {
  ClockModel clock;
  clock.SetDomain(0, DomainId{0});
  clock.SetDomain(1, DomainId{1});
  EXPECT_FALSE(clock.PairUncertainty(0, 1).has_value());
}

TEST(ClockModel, FewerThanThreeInstancesLeaveTheDefault) {
  ClockModel clock;
  clock.SetDomain(0, DomainId{0});
  clock.SetDomain(1, DomainId{0});
  EXPECT_EQ(clock.PairUncertainty(0, 1)->ns, ClockModel::kDefaultPairUncertaintyNs);
  clock.SetPair(1, 0, 100, 2);
  EXPECT_EQ(clock.PairUncertainty(0, 1)->ns, ClockModel::kDefaultPairUncertaintyNs);
}

TEST(ClockModel, AMeasuredPairServesBothDirections) {
  ClockModel clock;
  clock.SetDomain(0, DomainId{0});
  clock.SetDomain(1, DomainId{0});
  clock.SetPair(1, 0, 4'321, 3);
  EXPECT_EQ(clock.PairUncertainty(0, 1)->ns, 4'321);
  EXPECT_EQ(clock.PairUncertainty(1, 0)->ns, 4'321);
}

TEST(InDomainClock, UncertaintyIsTheNinetyFifthPercentileOfTheEndDifferences) {
  std::vector<int64_t> differences;
  for (int64_t i = 1; i <= 40; ++i) differences.push_back((i % 2 == 0 ? 1 : -1) * i * 100);
  const MatchedRun run = TwoRanks(differences);
  EXPECT_EQ(run.match.clock.PairUncertainty(0, 1)->ns, 3'800) << "x_(ceil(0.95 * 40)) = x_38";
}

TEST(InDomainClock, UncertaintyIsNeverBelowTwoTicks) {
  EXPECT_EQ(TwoRanks(std::vector<int64_t>(10, 3)).match.clock.PairUncertainty(0, 1)->ns, 64);
}

TEST(InDomainClock, WholeMicrosecondsMakeATickOfOneMicrosecond) {
  RunBuilder builder;
  for (int32_t r = 0; r < 2; ++r) {
    auto& source = builder.AddRank(r).World(2);
    source.Group("0", {0, 1});
    for (int64_t i = 0; i < 10; ++i) source.Collective(0, CollectiveOp::kAllReduce, i * i * 100 * kUs, 50 * kUs);
  }
  EXPECT_EQ(Match(builder).match.clock.PairUncertainty(0, 1)->ns, 2 * kUs);
}

TEST(InDomainClock, ASpreadBelowTheUncertaintyIsNotResolvable) {
  const MatchedRun run = TwoRanks(std::vector<int64_t>(10, 2'000));
  for (const MatchedInstance& instance : run.match.instances) {
    EXPECT_GE(instance.uncertainty_ns, instance.spread_ns);
    EXPECT_FALSE(instance.resolvable);
    EXPECT_FALSE(instance.last_certain);
  }
}

}  // namespace
}  // namespace lockstep
