#include "analysis/metrics/match/rank_islands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "analysis/metrics/match/run_matcher.h"
#include "analysis/model/instance_row.h"
#include "tests/support/run_builder.h"
#include "tests/support/time_units.h"

namespace lockstep {
namespace {

// Four ranks, each on a host of its own, two pairs with a group each.
class IslandsTest : public testing::Test {
 protected:
  IslandsTest() {
    for (int32_t r = 0; r < 4; ++r) {
      SourceBuilder& source = builder_.AddRank(r).Host("node" + std::to_string(r));
      const uint32_t group = source.Group(r < 2 ? "a" : "b", r < 2 ? std::vector{0, 1} : std::vector{2, 3});
      for (int64_t i = 0; i < 8; ++i) source.Collective(group, CollectiveOp::kAllReduce, i * kMs, kMs / 2);
    }
  }

  [[nodiscard]] RankIslands Islands() {
    BuiltRun built = builder_.Build();
    const RankResolution ranks = ResolveRanks(built.run, {});
    RunMatcher matcher(built.run, ranks, RunMatcher::Extent::kStretches);
    InlineExecutor executor;
    EXPECT_TRUE(matcher.Match(built.instances, AlignedTime{INT64_MIN / 2}, executor).ok());
    return matcher.Islands();
  }

  RunBuilder builder_;
};

TEST_F(IslandsTest, AreTheRanksThatShareACommunicator) { EXPECT_EQ(Islands(), (RankIslands{{0, 1}, {2, 3}})); }

TEST_F(IslandsTest, AreOneWhereRanksShareAHost) {
  builder_.Source(1).Host("node2");
  EXPECT_EQ(Islands(), (RankIslands{{0, 1, 2, 3}}));
}

TEST_F(IslandsTest, AreOneWhereAGroupIsToldThatNobodyUsedYet) {
  builder_.Source(0).Group("late", {0, 2});
  EXPECT_EQ(Islands(), (RankIslands{{0, 1, 2, 3}}));
}

TEST_F(IslandsTest, AreOneWhereAHashIsToldThatNobodyUsedYet) {
  builder_.Source(1).HashGroup(77, 2, 0);
  builder_.Source(3).HashGroup(77, 2, 1);
  EXPECT_EQ(Islands(), (RankIslands{{0, 1, 2, 3}}));
}

TEST_F(IslandsTest, AreOneWhereNobodySaysWhoIsInAGroup) {
  builder_.Source(2).Group("anyone", {});
  EXPECT_EQ(Islands(), (RankIslands{{0, 1, 2, 3}}));
}

// Rows of the first two ranks alone, as one island's chapter has them.
VectorInstanceSource OfTheFirstIsland(BuiltRun& built, const RankResolution& ranks) {
  std::vector<std::vector<InstanceRow>> rows = built.instances.rows();
  for (const size_t other : {size_t{2}, size_t{3}}) rows[ranks.ranks[other].source].clear();
  return VectorInstanceSource(std::move(rows));
}

class IslandChapterTest : public IslandsTest {
 protected:
  // What all four show first, then what the first two show later.
  MatchResult MatchLater(const std::function<void()>& add) {
    BuiltRun first = builder_.Build();
    add();
    BuiltRun later = builder_.Build();
    const RankResolution ranks = ResolveRanks(later.run, {});
    RunMatcher matcher(later.run, ranks, RunMatcher::Extent::kStretches);
    InlineExecutor executor;
    EXPECT_TRUE(matcher.Match(first.instances, AlignedTime{INT64_MIN / 2}, executor).ok());
    VectorInstanceSource island = OfTheFirstIsland(later, ranks);
    return *matcher.Match(island, AlignedTime{INT64_MIN / 2}, executor);
  }
};

TEST_F(IslandChapterTest, ARowThatNobodyToldOfIsOfNoGroupOfAllRanks) {
  std::vector<uint32_t> unknown;
  for (size_t r = 0; r < 4; ++r) {
    builder_.Source(r).World(4);
    unknown.push_back(builder_.Source(r).UnknownGroup());
  }
  const MatchResult match = MatchLater([&] {
    for (const size_t r : {size_t{0}, size_t{1}}) {
      builder_.Source(r).Collective(unknown[r], CollectiveOp::kAllReduce, 100 * kMs, kMs).stream = 99;
    }
  });
  int64_t untold = 0;
  for (const MatchedInstance& instance : match.instances) {
    untold += instance.no_group ? 1 : 0;
    EXPECT_NE(match.communicators[instance.communicator].members.size(), 4u);
  }
  EXPECT_EQ(untold, 2);
}

TEST_F(IslandChapterTest, AGroupThatIsMetLaterIsTakenOverWithItsPlace) {
  std::vector<uint32_t> late;
  for (size_t r = 0; r < 4; ++r) {
    SourceBuilder& source = builder_.Source(r);
    late.push_back(source.Group("late", r < 2 ? std::vector{0, 1} : std::vector{2, 3}));
  }
  BuiltRun first = builder_.Build();
  for (size_t r = 0; r < 4; ++r) builder_.Source(r).Collective(late[r], CollectiveOp::kAllReduce, 100 * kMs, kMs);
  BuiltRun later = builder_.Build();
  const RankResolution ranks = ResolveRanks(later.run, {});
  InlineExecutor executor;
  RunMatcher own(later.run, ranks, RunMatcher::Extent::kStretches);
  ASSERT_TRUE(own.Match(first.instances, AlignedTime{INT64_MIN / 2}, executor).ok());
  RunMatcher other(own);
  VectorInstanceSource island = OfTheFirstIsland(later, ranks);
  const auto there = other.Match(island, AlignedTime{INT64_MIN / 2}, executor);
  own.TakeOver(other, {0, 1});
  const auto here = own.Match(later.instances, AlignedTime{INT64_MIN / 2}, executor);
  ASSERT_EQ(there->communicators.size(), 3u);
  ASSERT_EQ(here->communicators.size(), 4u);
  for (size_t c = 0; c < 3; ++c) EXPECT_EQ(here->communicators[c].id, there->communicators[c].id) << c;
}

TEST(PackIslands, LeavesFewAsTheyAre) {
  const RankIslands islands = {{0, 3}, {1, 2}, {4}};
  EXPECT_EQ(PackIslands(islands), islands);
}

TEST(PackIslands, PutsManyTogetherAndLosesNone) {
  RankIslands islands;
  for (size_t r = 0; r < 1'000; ++r) islands.push_back({r, 1'000 + r});
  const RankIslands packed = PackIslands(islands);
  EXPECT_LE(packed.size(), 128u);
  EXPECT_GE(packed.size(), 64u);
  std::vector<size_t> all;
  for (const auto& set : packed) {
    EXPECT_TRUE(std::is_sorted(set.begin(), set.end()));
    all.insert(all.end(), set.begin(), set.end());
  }
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), 2'000u);
  for (size_t r = 0; r < all.size(); ++r) EXPECT_EQ(all[r], r);
}

}  // namespace
}  // namespace lockstep
