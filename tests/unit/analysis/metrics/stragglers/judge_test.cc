#include "analysis/metrics/stragglers/judge.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/metrics/stragglers/stragglers.h"

namespace lockstep {
namespace {

// Eight ranks of one family with noise of 10 us; rank 5 is late by `late_ns` in `share` of the units.
std::vector<Candidate> EightRanks(uint64_t seed, size_t units, double share, double late_ns) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 10'000);
  std::bernoulli_distribution late(share);
  std::vector<Candidate> candidates(8);
  for (size_t rank = 0; rank < candidates.size(); ++rank) {
    candidates[rank].id = std::to_string(rank);
    candidates[rank].rank_indices = {static_cast<int32_t>(rank)};
    candidates[rank].floor_ns = 12'000;
    for (size_t unit = 0; unit < units; ++unit) {
      candidates[rank].Add(unit, noise(random) + (rank == 5 && late(random) ? late_ns : 0));
    }
  }
  return candidates;
}

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
