#include "analysis/metrics/stragglers/late_peers.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/analysis/metrics/stragglers/eight_ranks.h"

namespace lockstep {
namespace {

TEST(LateRanks, AreThoseBeyondChanceOrThatStall) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<Candidate> candidates = EightRanks(seed, 60, 1, 80'000);
    candidates[2].series[10] = candidates[2].series[30] = 3'000'000;
    EXPECT_EQ(LateRanks(candidates, JudgeCandidates(candidates)), (std::vector<int32_t>{2, 5})) << seed;
  }
}

// Ranks 2 and 5, each in its half of the run: in a mean of peers each makes the other one look early.
TEST(LateRanks, AreThoseThatAreSlowInAStretchOfTheRun) {
  std::vector<Candidate> candidates = EightRanks(1, 60, 0, 0);
  for (size_t unit = 0; unit < 60; ++unit) {
    const bool first_half = unit < 30;
    candidates[first_half ? 2 : 5].series[unit] += 1'500'000;
    candidates[first_half ? 5 : 2].series[unit] -= 200'000;
  }
  EXPECT_EQ(LateRanks(candidates, JudgeCandidates(candidates)), (std::vector<int32_t>{2, 5}));
}

TEST(LateRanks, AreNotThoseThatAreSlowerByWhatDevicesDiffer) {
  const std::vector<Candidate> candidates = EightRanks(4, 60, 1, 40'000);
  EXPECT_TRUE(LateRanks(candidates, JudgeCandidates(candidates)).empty());
}

// Four pairs.
std::vector<RankOwnTime> Pairs() {
  std::vector<RankOwnTime> own(8);
  for (size_t rank = 0; rank < own.size(); ++rank) {
    own[rank].communicator = static_cast<int32_t>(rank / 2);
    own[rank].compared = true;
  }
  return own;
}

Candidate LateGroup(std::vector<int32_t> ranks) {
  Candidate group;
  group.scope = StragglerScope::kGpu;
  group.rank_indices = std::move(ranks);
  group.floor_ns = 12'000;
  group.family = 1;
  for (size_t unit = 0; unit < 60; ++unit) group.Add(unit, 30'000);
  return group;
}

TEST(FindLate, WhoseOnlyPeerIsLateIsHidden) {
  std::vector<Candidate> candidates = EightRanks(1, 60, 1, 80'000);
  EXPECT_EQ(FindLate(candidates, JudgeCandidates(candidates), Pairs()), (KnownLate{{5}, {4}}));
  candidates.push_back(LateGroup({1, 7}));
  EXPECT_EQ(FindLate(candidates, JudgeCandidates(candidates), Pairs()), (KnownLate{{5}, {0, 4, 6}}));
}

TEST(FindLate, WhoIsLateTogetherWithItsPeerIsNotHidden) {
  std::vector<Candidate> candidates = EightRanks(1, 60, 0, 0);
  candidates.push_back(LateGroup({4, 5}));
  EXPECT_EQ(FindLate(candidates, JudgeCandidates(candidates), Pairs()), KnownLate{});
}

TEST(FindLate, WhoHasAPeerThatIsOnTimeIsNotHidden) {
  std::vector<Candidate> candidates = EightRanks(1, 60, 0, 0);
  candidates.push_back(LateGroup({1, 2}));
  std::vector<RankOwnTime> own = Pairs();
  for (const size_t rank : {0, 1, 2, 3}) own[rank].communicator = 0;
  EXPECT_EQ(FindLate(candidates, JudgeCandidates(candidates), own), KnownLate{});
}

TEST(JudgeApart, TheDelaysOfOneThatIsKnownToBeLateDoNotHideThoseOfAnother) {
  std::vector<Candidate> candidates = EightRanks(3, 200, 0, 0);
  for (size_t unit = 0; unit < 200; unit += 4) candidates[5].series[unit] = 5'000'000;
  for (size_t unit = 5; unit < 200; unit += 40) candidates[1].series[unit] = 2'000'000;
  EXPECT_GE(JudgeCandidates(candidates)[1].p_adjusted, kStragglerAlpha);
  EXPECT_LT(JudgeApart(candidates, {5})[1].p_adjusted, kStragglerAlpha);
  EXPECT_EQ(JudgeApart(candidates, {5})[5].p_adjusted, JudgeCandidates(candidates)[5].p_adjusted);
}

}  // namespace
}  // namespace lockstep
