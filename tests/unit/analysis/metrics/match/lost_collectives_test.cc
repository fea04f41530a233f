#include "analysis/metrics/match/lost_collectives.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

// Three ranks, numbered 10, 11, 12, in one group.
struct SmallRun {
  RankResolution ranks;
  MatchResult match;

  SmallRun() {
    for (int32_t i = 0; i < 3; ++i) {
      ResolvedRank rank;
      rank.rank = 10 + i;
      ranks.ranks.push_back(rank);
    }
    match.communicators.push_back({"abc", "", "", {10, 11, 12}, 3, false});
  }

  [[nodiscard]] std::vector<LostCollectives> Lost() const {
    LostCollectivesCount count(ranks);
    for (const MatchedInstance& instance : match.instances) count.Add(instance, match.communicators[0]);
    return count.Finish(match.communicators);
  }

  MatchedInstance& Meet(const std::vector<int32_t>& rank_indices) {
    MatchedInstance instance;
    instance.confidence = 1;
    instance.complete = rank_indices.size() == 3;
    instance.index = static_cast<int64_t>(match.instances.size());
    for (const int32_t index : rank_indices) {
      MatchedMember member;
      member.rank_index = index;
      member.start_ns = 1'000 * (instance.index + 1) + index;
      instance.members.push_back(member);
    }
    match.instances.push_back(std::move(instance));
    return match.instances.back();
  }
};

TEST(LostCollectives, NobodyLacksAnythingOfACompleteRun) {
  SmallRun run;
  for (int i = 0; i < 5; ++i) run.Meet({0, 1, 2});
  EXPECT_TRUE(run.Lost().empty());
}

TEST(LostCollectives, CountsWhatTheOthersHaveAndSaysWhenItBegan) {
  SmallRun run;
  run.Meet({0, 1, 2});
  run.Meet({0, 2});
  run.Meet({0, 2});
  run.Meet({0, 1, 2});
  const std::vector<LostCollectives> lost = run.Lost();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].rank_index, 1);
  EXPECT_EQ(lost[0].lost, 2);
  EXPECT_EQ(lost[0].expected, 4);
  EXPECT_EQ(lost[0].first_ns, 2'000);
  EXPECT_TRUE(lost[0].IsMuch());
}

TEST(LostCollectives, AShorterCaptureHasLostNothing) {
  SmallRun run;
  run.Meet({0, 1});
  run.Meet({0, 1, 2});
  run.Meet({0, 1, 2});
  run.Meet({0, 1});
  EXPECT_TRUE(run.Lost().empty());
}

TEST(LostCollectives, WhatIsNotJoinedWithConfidenceSaysNothing) {
  SmallRun run;
  run.Meet({0, 1, 2});
  run.Meet({0, 1}).confidence = 0.5;
  run.Meet({0, 1, 2});
  EXPECT_TRUE(run.Lost().empty());
}

TEST(LostCollectives, TheLargestShareComesFirst) {
  SmallRun run;
  run.Meet({0, 1, 2});
  run.Meet({0, 1});
  run.Meet({1, 2});
  run.Meet({1, 2});
  for (int i = 0; i < 30; ++i) run.Meet({0, 1, 2});
  const std::vector<LostCollectives> lost = run.Lost();
  ASSERT_EQ(lost.size(), 2u);
  EXPECT_EQ(lost[0].rank_index, 0);
  EXPECT_EQ(lost[1].rank_index, 2);
  EXPECT_FALSE(lost[0].IsMuch());
}

}  // namespace
}  // namespace lockstep
