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

TEST(LateRanks, AreNotThoseThatAreSlowerByWhatDevicesDiffer) {
  const std::vector<Candidate> candidates = EightRanks(4, 60, 1, 40'000);
  EXPECT_TRUE(LateRanks(candidates, JudgeCandidates(candidates)).empty());
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
