#include "analysis/metrics/match/group_contradictions.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/analysis/metrics/matched_run.h"

namespace lockstep {
namespace {

std::vector<GroupContradiction> ContradictionsIn(const RunBuilder& builder) {
  const BuiltRun built = builder.Build();
  return FindGroupContradictions(built.run, ResolveRanks(built.run, {}));
}

TEST(GroupContradictions, TheRankThatClaimsMoreMembersIsNamedWithWhatTheOthersSay) {
  RunBuilder builder;
  for (int32_t r = 0; r < 4; ++r) {
    SourceBuilder& source = builder.AddRank(r);
    source.World(4);
    source.Group("tp", r == 3 ? std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7} : std::vector<int32_t>{0, 1, 2, 3});
  }
  const std::vector<GroupContradiction> found = ContradictionsIn(builder);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].group, "tp");
  EXPECT_EQ(found[0].rank, 3);
  EXPECT_EQ(found[0].said_size, 8);
  EXPECT_EQ(found[0].others_size, 4);
  EXPECT_EQ(found[0].others, 3);
  EXPECT_FALSE(found[0].equal_votes);
}

TEST(GroupContradictions, TwoThatContradictEachOtherAreBothNamed) {
  RunBuilder builder;
  for (int32_t r = 0; r < 2; ++r) {
    SourceBuilder& source = builder.AddRank(r);
    source.World(2);
    source.HashGroup(7, r == 0 ? 2 : 4, r);
  }
  const std::vector<GroupContradiction> found = ContradictionsIn(builder);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found[0].equal_votes);
  EXPECT_EQ(found[1].rank, 1);
}

TEST(GroupContradictions, GroupsThatOnlyShareANameContradictNobody) {
  RunBuilder builder;
  for (int32_t r = 0; r < 4; ++r) {
    SourceBuilder& source = builder.AddRank(r);
    source.World(4);
    source.Group("tp", r < 2 ? std::vector<int32_t>{0, 1} : std::vector<int32_t>{2, 3});
    source.Group("dp", {r % 2, r % 2 + 2});
  }
  EXPECT_TRUE(ContradictionsIn(builder).empty());
}

TEST(GroupContradictions, ARankOfTwoGroupsOfOneNameContradictsNobody) {
  RunBuilder builder;
  for (int32_t r = 0; r < 4; ++r) {
    SourceBuilder& source = builder.AddRank(r);
    source.World(4);
    source.Group("world", {0, 1, 2, 3});
    if (r < 2) source.Group("world", {0, 1});
  }
  EXPECT_TRUE(ContradictionsIn(builder).empty());
}

}  // namespace
}  // namespace lockstep
