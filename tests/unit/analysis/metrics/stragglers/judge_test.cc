#include "analysis/metrics/stragglers/judge.h"

#include <gtest/gtest.h>

#include "analysis/metrics/stragglers/stragglers.h"
#include "tests/unit/analysis/metrics/stragglers/eight_ranks.h"

namespace lockstep {
namespace {

TEST(Judge, WhoIsLateByMuchInHalfOfTheUnitsIsSignificant) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<Judgement> judged = JudgeCandidates(EightRanks(seed, 100, 0.5, 300'000));
    for (size_t rank = 0; rank < judged.size(); ++rank) {
      EXPECT_EQ(judged[rank].p_adjusted < kStragglerAlpha, rank == 5) << "seed " << seed << ", rank " << rank;
    }
  }
}

TEST(Judge, NobodyIsSignificantInNoise) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    for (const Judgement& judgement : JudgeCandidates(EightRanks(seed, 60, 0, 0))) {
      EXPECT_GE(judgement.p_adjusted, kStragglerAlpha) << "seed " << seed;
    }
  }
}

TEST(Judge, OneLongPauseIsNoLatenessInMostUnits) {
  std::vector<Candidate> candidates = EightRanks(3, 100, 0, 0);
  candidates[5].series[40] = 50'000'000;
  EXPECT_GE(JudgeCandidates(candidates)[5].p_adjusted, kStragglerAlpha);
}

}  // namespace
}  // namespace lockstep
