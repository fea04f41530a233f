#include "analysis/metrics/stragglers/tested_lateness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "tests/unit/analysis/metrics/stragglers/paced_run.h"

namespace lockstep {
namespace {

// Rank 4 is late where a step begins, and GPU 1 of each host, with which it is a pair, throughout: over a step both
// ranks of the pair are equally late.
TEST(TestLateness, ARankOfAPairIsNotHiddenByTheOtherOneThatIsLateAtOtherPlacesOfAStep) {
  const PacedRun run = MakePacedRun(Cluster(4, 2), 17, [](int32_t rank, int, int layer) {
    if (rank == 4) return layer == 0 ? 60'000 : 0;
    return rank % 2 == 1 ? 10'000 : 0;
  });
  const TestedLateness tested = TestLateness(run.ranks, run.match, run.graph, "");
  EXPECT_THAT(tested.late.hidden, testing::IsSupersetOf({0, 2, 4, 6}));
  EXPECT_NEAR(tested.judgements[4].mean_ns, 60'000 - 4 * 60'000 / 7, 5'000);
  EXPECT_LT(tested.judgements[4].p_adjusted, kStragglerAlpha);
  EXPECT_LT(tested.judgements[0].mean_ns, 0) << "the other one of its pair is late as well, and it is on time";
}

// In fewer than half of the steps, and by ten times the noise.
double LeastPOfTwoThatStall(unsigned seed, double first, double second) {
  PacedShape shape = Cluster(1, 2, 44);
  shape.noise = 0.02;
  std::mt19937 random(seed);
  std::vector<std::array<bool, 2>> stalls;
  for (int step = 0; step < shape.steps; ++step) {
    stalls.push_back({std::bernoulli_distribution(first)(random), std::bernoulli_distribution(second)(random)});
  }
  const PacedRun run = MakePacedRun(shape, seed, [&](int32_t rank, int step, int layer) {
    const bool stall = layer == 0 && stalls[static_cast<size_t>(step)][static_cast<size_t>(rank)];
    return stall ? 900'000 : 0;
  });
  const TestedLateness tested = TestLateness(run.ranks, run.match, run.graph, "");
  return std::min(tested.judgements[0].p_adjusted, tested.judgements[1].p_adjusted);
}

TEST(TestLateness, OneOfTwoThatStallsInFewerThanHalfOfTheStepsIsSignificant) {
  int found = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) found += LeastPOfTwoThatStall(seed, 0.41, 0) < kStragglerAlpha ? 1 : 0;
  EXPECT_GE(found, 12);
}

TEST(TestLateness, TwoThatStallAsOftenAreNotSignificant) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    EXPECT_GE(LeastPOfTwoThatStall(seed, 0.41, 0.41), kStragglerAlpha) << seed;
  }
}

}  // namespace
}  // namespace lockstep
