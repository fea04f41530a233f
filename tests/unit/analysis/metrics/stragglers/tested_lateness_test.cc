#include "analysis/metrics/stragglers/tested_lateness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
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
  const TestedLateness tested = TestLateness(run.ranks, run.match, run.graph, std::nullopt);
  EXPECT_THAT(tested.late.hidden, testing::IsSupersetOf({0, 2, 4, 6}));
  EXPECT_NEAR(tested.judgements[4].mean_ns, 60'000 - 10'000, 5'000) << "as the other one of its pair waits for it";
  EXPECT_LT(tested.judgements[4].p_adjusted, kStragglerAlpha);
  EXPECT_LT(tested.judgements[0].mean_ns, 0) << "the other one of its pair is late as well, and it is on time";
}

// Where all wait for all at each place of a step, a fast device gains nothing by it: its rank waits there.
TEST(TestLateness, ARankThatIsLateWhereAStepBeginsIsNotHiddenByItsOwnFastDevice) {
  for (const int32_t ranks : {2, 4}) {
    const PacedRun run = MakePacedRun(Cluster(1, ranks, 30), 5, [](int32_t rank, int, int layer) {
      if (rank == 0) return layer == 0 ? 60'000 : -15'000;
      return 0;
    });
    const TestedLateness tested = TestLateness(run.ranks, run.match, run.graph, std::nullopt);
    EXPECT_NEAR(tested.judgements[0].mean_ns, 60'000, 2'000) << ranks;
    EXPECT_LT(tested.judgements[0].p_adjusted, kStragglerAlpha) << ranks;
    EXPECT_NEAR(tested.candidates[0].parts[static_cast<size_t>(LatenessPart::kCompute)], 60'000, 2'000) << ranks;
  }
}

// Both causes of a pair hold the other one up.
TEST(TestLateness, TwoOfAPairThatAreLateAtDifferentPlacesAreBothLate) {
  const PacedRun run = MakePacedRun(Cluster(1, 2, 30), 9, [](int32_t rank, int, int layer) {
    if (rank == 0) return layer == 0 ? 60'000 : 0;
    return layer == 3 ? 40'000 : 0;
  });
  const TestedLateness tested = TestLateness(run.ranks, run.match, run.graph, std::nullopt);
  EXPECT_NEAR(tested.judgements[0].mean_ns, 60'000, 2'000);
  EXPECT_NEAR(tested.judgements[1].mean_ns, 40'000, 2'000);
}

TEST(TestLateness, DevicesThatAreFasterAndSlowerThroughoutAreAsLateAsTheyAreOverAStep) {
  PacedShape shape = Cluster(1, 8, 30);
  shape.device_spread = 0.004;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const PacedRun run = MakePacedRun(shape, seed);
    const TestedLateness tested = TestLateness(run.ranks, run.match, run.graph, std::nullopt);
    for (size_t rank = 0; rank < 8; ++rank) {
      double sum = 0;
      for (const double excess : tested.own[rank].excess_ns) sum += std::isnan(excess) ? 0 : excess;
      const double mean = sum / static_cast<double>(tested.own[rank].units);
      if (tested.late.ranks.empty()) {
        EXPECT_NEAR(tested.judgements[rank].mean_ns, mean, 1) << seed << " " << rank;
      }
    }
  }
}

// In the last step the first two exchange data where the others have lost their records.
TEST(TestLateness, MembersOfACommunicatorInWhichTwoExchangeAreComparedOverWholeSteps) {
  PacedRun run = MakePacedRun(Cluster(1, 4, 30), 5, [](int32_t rank, int, int) { return rank == 0 ? 90'000 : 0; });
  MatchedInstance& last = run.match.instances.back();
  ASSERT_TRUE(last.all_pairs);
  last.op = CollectiveOp::kSendRecv;
  last.members.resize(2);
  const TestedLateness tested = TestLateness(run.ranks, run.match, run.graph, std::nullopt);
  for (const RankOwnTime& own : tested.own) {
    EXPECT_TRUE(own.compared && own.excess_at_ns.empty() && own.excess_parts_at.empty());
  }
  EXPECT_THAT(tested.late.ranks, testing::ElementsAre(0));
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
  const TestedLateness tested = TestLateness(run.ranks, run.match, run.graph, std::nullopt);
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
