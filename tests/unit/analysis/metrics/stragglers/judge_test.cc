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

// Every rank has short delays now and then; rank 5 has three long ones besides.
TEST(JudgeCandidates, StallsThatNoPeerHasAreToldFromNaturalDelays) {
  std::vector<Candidate> candidates = EightRanks(3, 60, 0, 0);
  for (size_t rank = 0; rank < 8; ++rank) {
    for (size_t k = 0; k < 3; ++k) candidates[rank].series[(7 * rank + 19 * k) % 60] += 300'000;
  }
  for (const size_t unit : {5, 25, 44, 57}) candidates[5].series[unit] = 4'000'000;
  EXPECT_LT(JudgeCandidates(candidates)[5].p_stalls, 0.005);
  EXPECT_EQ(JudgeCandidates(candidates)[0].p_stalls, 1) << "three of the family's 24 are its fair part";
  candidates[5].series[44] = candidates[5].series[57] = 0;
  EXPECT_GT(JudgeCandidates(candidates)[5].p_stalls, 0.02) << "any of eight has two of two once in eight times";
}

// The only rank of a stage: its host against what is usual for it. In so many of 30 steps it stalls.
Candidate OfAStage(uint64_t seed, size_t stalls) {
  Candidate candidate = EightRanks(seed, 30, 0, 0)[0];
  candidate.with_itself = true;
  candidate.floor_ns = 400'000;
  for (size_t k = 0; k < stalls; ++k) candidate.series[(7 * k) % 30] += 24'000'000;
  return candidate;
}

TEST(Judge, WhoStallsInMostOfItsOwnStepsIsSignificantWithoutAnyPeer) {
  for (const size_t stalls : {12, 15, 20}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      EXPECT_LT(JudgeCandidates(std::vector<Candidate>{OfAStage(seed, stalls)})[0].p_adjusted, kStragglerAlpha)
          << stalls << " " << seed;
    }
  }
}

TEST(Judge, AFewStallsAreItsOwnIfTheOnlyRanksOfOtherStagesHaveNone) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Candidate stalls = OfAStage(seed, 8);
    const auto p = [&] { return JudgeCandidates(std::vector<Candidate>{stalls})[0].p_adjusted; };
    EXPECT_GE(p(), kStragglerAlpha) << "of two stages each has eight of eight once in 256 times, seed " << seed;
    stalls.quiet = {.ranks = 3, .far_units = 0};
    EXPECT_LT(p(), kStragglerAlpha) << seed;
    stalls.quiet = {.ranks = 3, .far_units = 8};
    EXPECT_GE(p(), kStragglerAlpha) << "half of what happens to all is nobody's, seed " << seed;
  }
}

TEST(Judge, AFewStallsOfItsOwnAndThoseThatTheOtherStageHasTooAreNotSignificant) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_GE(JudgeCandidates(std::vector<Candidate>{OfAStage(seed, 3)})[0].p_adjusted, kStragglerAlpha) << seed;
    const std::vector<Candidate> alike = {OfAStage(seed, 15), OfAStage(seed + 100, 15)};
    for (const Judgement& it : JudgeCandidates(alike)) EXPECT_GE(it.p_adjusted, kStragglerAlpha) << seed;
  }
}

}  // namespace
}  // namespace lockstep
