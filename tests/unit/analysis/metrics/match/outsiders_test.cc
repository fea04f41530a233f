// Groups that may have members besides those that were found.
#include "analysis/metrics/match/outsiders.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/time_units.h"

namespace lockstep {
namespace {

constexpr int64_t kInstances = 20;

// Two groups of two ranks each, on two clocks; `after_us`: how long the operations of each take after the last arrival.
struct TwoGroups {
  TwoGroups(int64_t first_after_us, int64_t second_after_us, bool connected) {
    for (int32_t rank = 0; rank < 4; ++rank) clock.SetDomain(rank, DomainId{rank / 2});
    clock.SetDomainClock(DomainId{1}, DomainClock{.component = connected ? 0 : 1});
    ranks.ranks.resize(4);
    rows.resize(4);
    AddGroup(0, first_after_us * kUs);
    AddGroup(2, second_after_us * kUs);
  }

  void AddGroup(int32_t first_rank, int64_t after_ns) {
    CommunicatorPlan plan;
    plan.membership = Membership::kInferred;
    plan.ranks = {first_rank, first_rank + 1};
    plan.rows.resize(2);
    CommunicatorJoin join;
    for (int64_t k = 0; k < kInstances; ++k) {
      JoinedInstance joined;
      joined.instance.op = CollectiveOp::kAllReduce;
      joined.instance.kind = MatchKind::kInferred;
      joined.instance.confidence = 1;
      for (int32_t m = 0; m < 2; ++m) {
        CollectiveRow row;
        row.op = CollectiveOp::kAllReduce;
        const auto rank = static_cast<size_t>(first_rank + m);
        plan.rows[static_cast<size_t>(m)].push_back(static_cast<uint32_t>(rows[rank].rows.size()));
        rows[rank].rows.push_back(row);
        MatchedMember member;
        member.rank_index = first_rank + m;
        member.start_ns = k * 1'000 * kUs;
        member.end_ns = member.start_ns + after_ns;
        joined.instance.members.push_back(member);
      }
      join.instances.push_back(joined);
    }
    plans.push_back(plan);
    joins.push_back(join);
  }

  [[nodiscard]] std::vector<bool> Ask() const { return MayHaveOutsiders(plans, joins, rows, ranks, clock); }

  std::vector<CommunicatorPlan> plans;
  std::vector<CommunicatorJoin> joins;
  std::vector<RankRows> rows;
  RankResolution ranks;
  ClockModel clock;
};

TEST(Outsiders, GroupsOnConnectedClocksAreKnownApart) {
  EXPECT_EQ(TwoGroups(40, 400, true).Ask(), (std::vector<bool>{false, false}));
}

TEST(Outsiders, GroupsThatNothingConnectsMayBeOneIfOneWaitsLonger) {
  EXPECT_EQ(TwoGroups(40, 400, false).Ask(), (std::vector<bool>{true, true}));
}

TEST(Outsiders, GroupsThatTakeEquallyLongHideNoWaiting) {
  EXPECT_EQ(TwoGroups(40, 44, false).Ask(), (std::vector<bool>{false, false}));
}

TEST(Outsiders, GroupsOfWhichOneSeldomTakesMuchLongerMayBeOne) {
  TwoGroups seldom(40, 44, false);
  for (MatchedMember& member : seldom.joins[1].instances[7].instance.members) member.end_ns += 600 * kUs;
  EXPECT_EQ(seldom.Ask(), (std::vector<bool>{true, true}));
  TwoGroups both(40, 44, false);
  for (const size_t group : {0, 1}) {
    for (MatchedMember& member : both.joins[group].instances[7].instance.members) member.end_ns += 600 * kUs;
  }
  EXPECT_EQ(both.Ask(), (std::vector<bool>{false, false}));
}

TEST(Outsiders, WhereAMemberLostItsRecordHowLongTheOthersTookTellsNothing) {
  TwoGroups groups(40, 44, false);
  for (const size_t instance : {3, 7}) {
    MatchedInstance& lost = groups.joins[1].instances[instance].instance;
    lost.members.pop_back();
    lost.members.front().end_ns += 600 * kUs;
  }
  EXPECT_EQ(groups.Ask(), (std::vector<bool>{false, false}));
}

TEST(Outsiders, AGroupThatRecordedAnotherNumberOfTheSameInstancesIsNotAnother) {
  TwoGroups groups(40, 44, false);
  for (const size_t group : {0, 1}) {
    std::vector<JoinedInstance>& instances = groups.joins[group].instances;
    if (group == 1) instances.resize(16);
    for (size_t i = 0; i < instances.size(); i += 4) {
      for (MatchedMember& member : instances[i].instance.members) member.end_ns += 300 * kUs;
    }
  }
  EXPECT_EQ(groups.Ask(), (std::vector<bool>{false, false}));
}

TEST(Outsiders, HowLongAGroupOfTwoHostsTakesIsMeasuredOnAlignedClocks) {
  TwoGroups groups(40, 44, false);
  groups.clock.SetDomain(3, DomainId{2});
  groups.clock.SetDomainClock(DomainId{2},
                              DomainClock{.component = 1, .knots = {ClockKnot{.offset_ns = 20'000 * kUs}}});
  for (JoinedInstance& joined : groups.joins[1].instances) {
    joined.instance.members[1].start_ns += 20'000 * kUs;
    joined.instance.members[1].end_ns += 20'000 * kUs;
  }
  EXPECT_EQ(groups.Ask(), (std::vector<bool>{false, false}));
}

TEST(Outsiders, ARankInNoGroupThatRunsTheSameMayBeAMember) {
  TwoGroups groups(40, 40, true);
  groups.plans[1].membership = Membership::kUnknown;
  EXPECT_EQ(groups.Ask(), (std::vector<bool>{true, false}));
}

// Of ranks 4 and 5 there is no trace: the groups look whole, and these may be one, too. If they are there, and work,
// but have no record of any collective, they take part in something.
TEST(Outsiders, ARankThatWorksWithoutAnyRecordMayBeAMemberOfGroupsThatLookWhole) {
  TwoGroups groups(50, 50, true);
  for (int32_t rank = 0; rank < 4; ++rank) groups.ranks.ranks[static_cast<size_t>(rank)].rank = rank;
  groups.ranks.world_size = 6;
  groups.ranks.missing_ranks = {4, 5};
  EXPECT_EQ(groups.Ask(), (std::vector<bool>{false, false}));
  groups.ranks.missing_ranks.clear();
  groups.ranks.silent_ranks = {4, 5};
  EXPECT_EQ(groups.Ask(), (std::vector<bool>{true, true}));
}

TEST(Outsiders, OtherOperationsAreOfOtherGroups) {
  TwoGroups groups(40, 400, false);
  for (size_t rank = 2; rank < 4; ++rank) {
    for (CollectiveRow& row : groups.rows[rank].rows) row.op = CollectiveOp::kAllToAll;
  }
  EXPECT_EQ(groups.Ask(), (std::vector<bool>{false, false}));
}

}  // namespace
}  // namespace lockstep
