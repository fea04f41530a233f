// Input that contradicts itself: what remains sound is joined, nothing else with confidence.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/model/instance_row.h"
#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/match/cluster_run.h"
#include "tests/unit/analysis/metrics/matched_run.h"

namespace lockstep {
namespace {

constexpr int32_t kRounds = 40;

// An all-reduce of every rank in each round; the last to come changes.
void Tell(SourceBuilder& source, uint32_t group, int32_t rank, bool ids, int32_t copies = 1) {
  for (int32_t n = 0; n < kRounds; ++n) {
    const int64_t last = 1'000'000 + n * 200 * kUs;
    const int64_t start = last - (n * 7 + rank * 3) % 5 * kUs;
    // Records are equal in everything but the order they come in.
    for (int32_t c = 0; c < copies; ++c) {
      InstanceRow& row = source.Collective(group, CollectiveOp::kAllReduce, start, last + 20 * kUs - start);
      row.bytes = 4096;
      row.stream = 9;
      if (!ids) continue;
      row.has_comms_id = true;
      row.comms_id = static_cast<uint64_t>(n + 1);
      row.seq = n;
    }
  }
}

class BadInput : public testing::TestWithParam<bool> {};  // with ids

TEST_P(BadInput, ARankThatTellsEachRecordTwiceIsJoinedOnceAndTheSecondOnesAreCounted) {
  RunBuilder builder;
  for (int32_t r = 0; r < 4; ++r) {
    SourceBuilder& source = builder.AddRank(r);
    source.World(4);
    Tell(source, source.Group("0", {0, 1, 2, 3}), r, GetParam(), r == 2 ? 2 : 1);
  }
  const MatchedRun run = Match(builder);
  int64_t whole = 0;
  for (const MatchedInstance& i : run.match.instances) {
    for (size_t m = 1; m < i.members.size(); ++m) {
      EXPECT_LT(i.members[m - 1].rank_index, i.members[m].rank_index);
    }
    whole += i.members.size() == 4 && i.confidence >= 0.99 ? 1 : 0;
    EXPECT_TRUE(!i.usable() || i.spread_ns <= 5 * kUs);
  }
  EXPECT_EQ(whole, kRounds);
  EXPECT_EQ(run.match.rank_drops[2].Of(DropReason::kDuplicateRecord), kRounds);
}

TEST_P(BadInput, ARankThatClaimsMoreMembersIsNotMixedWithTheOthersGroup) {
  RunBuilder builder;
  for (int32_t r = 0; r < 4; ++r) {
    SourceBuilder& source = builder.AddRank(r);
    source.World(4);
    const bool liar = r == 3;
    const uint32_t group = liar ? source.Group("0", {0, 1, 2, 3, 4, 5, 6, 7}) : source.Group("0", {0, 1, 2, 3});
    Tell(source, group, r, GetParam());
  }
  const MatchedRun run = Match(builder);
  int64_t of_three = 0;
  for (const MatchedInstance& i : run.match.instances) {
    of_three += i.usable() && i.members.size() == 3 ? 1 : 0;
    EXPECT_FALSE(i.matched() && i.members.back().rank_index == 3);
    EXPECT_FALSE(i.complete);
  }
  EXPECT_EQ(of_three, kRounds);
}

TEST_P(BadInput, MoreMembersThanRanksLeaveEveryInstanceIncomplete) {
  RunBuilder builder;
  for (int32_t r = 0; r < 2; ++r) {
    SourceBuilder& source = builder.AddRank(r);
    source.World(4);
    Tell(source, source.HashGroup(77, 4, r), r, GetParam());
  }
  const MatchedRun run = Match(builder);
  int64_t matched = 0;
  for (const MatchedInstance& i : run.match.instances) {
    EXPECT_FALSE(i.complete);
    matched += i.usable() ? 1 : 0;
  }
  EXPECT_EQ(matched, kRounds);
}

INSTANTIATE_TEST_SUITE_P(Ids, BadInput, testing::Bool());

class OneHostName : public testing::TestWithParam<Told> {};

TEST_P(OneHostName, MachinesThatShareANameAreSplitAndTheirInstancesStayWhole) {
  ClusterShape shape;
  shape.kinds = {{Neighbours(8, 8), 4}};
  shape.offset_ns = 5'000 * kUs;
  shape.drift_ppm = 10;
  shape.bias_ns = 2 * kUs;
  shape.loss = 0.005;
  shape.one_name = true;
  shape.told = GetParam();
  // With these seeds the machines' clocks are at least 0.1 ms apart.
  for (uint64_t seed = 3; seed <= 8; ++seed) {
    shape.seed = seed;
    const ClusterRun cluster(shape);
    RunBuilder builder;
    cluster.Tell(builder);
    const MatchedRun run = Match(builder);
    const ClusterRun::Score score = cluster.Compare(run);
    EXPECT_TRUE(run.match.host_conflict) << seed;
    for (int32_t r = 0; r < 8; ++r) EXPECT_EQ(run.match.clock.DomainOf(r).value, r / 4) << seed;
    EXPECT_EQ(score.right, score.claimed) << seed;
    EXPECT_GE(score.recall(), 0.99) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Told, OneHostName, testing::Values(Told::kIds, Told::kGroups));

// Calls that lie before the capture: their kernels bear neither a group nor an id.
TEST(Strays, RowsThatTellNothingJoinTheCommunicatorOfTheirStreamByTime) {
  RunBuilder builder;
  for (int32_t r = 0; r < 4; ++r) {
    SourceBuilder& source = builder.AddRank(r);
    source.World(4);
    const uint32_t group = source.Group("0", {0, 1, 2, 3});
    const uint32_t unknown = source.UnknownGroup();
    for (int32_t n = 0; n < kRounds; ++n) {
      const int64_t last = 1'000'000 + n * 200 * kUs;
      const int64_t start = last - (n * 7 + r * 3) % 5 * kUs;
      const bool told = n >= 2 * r;
      InstanceRow& row =
          source.Collective(told ? group : unknown, CollectiveOp::kAllReduce, start, last + 20 * kUs - start);
      row.stream = 9;
      row.has_comms_id = told;
      row.comms_id = told ? static_cast<uint64_t>(n + 1) : 0;
    }
  }
  const MatchedRun run = Match(builder);
  int64_t whole = 0;
  for (const MatchedInstance& i : run.match.instances) whole += i.complete && i.usable() ? 1 : 0;
  EXPECT_EQ(run.match.communicators.size(), 1U);
  EXPECT_EQ(whole, kRounds);
}

}  // namespace
}  // namespace lockstep
