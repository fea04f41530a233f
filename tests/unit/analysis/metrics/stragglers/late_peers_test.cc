#include "analysis/metrics/stragglers/late_peers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/unit/analysis/metrics/stragglers/eight_ranks.h"

namespace lockstep {
namespace {

// Two communicators of five ranks, with own times from which the excess over the mean of all others follows.
struct DrawnRanks {
  static constexpr size_t kUnits = 12;
  static constexpr size_t kMembers = 5;

  explicit DrawnRanks(unsigned seed) : random(seed) {
    std::exponential_distribution<double> length(1e-6);
    for (size_t rank = 0; rank < 2 * kMembers; ++rank) {
      RankOwnTime& of = own.emplace_back();
      of.communicator = static_cast<int32_t>(rank / kMembers);
      of.compared = true;
      for (size_t unit = 0; unit < kUnits; ++unit) of.own_ns.push_back(length(random));
    }
    for (size_t rank = 0; rank < own.size(); ++rank) {
      for (size_t unit = 0; unit < kUnits; ++unit) own[rank].excess_ns.push_back(Excess(rank, unit, {}));
      own[rank].excess_parts[0] = Excess(rank, 0, {});
    }
  }

  // The definition: own time minus the mean of the other members that are not late.
  [[nodiscard]] double Excess(size_t rank, size_t unit, const std::vector<int32_t>& late) const {
    double sum = 0;
    double count = 0;
    for (size_t other = 0; other < own.size(); ++other) {
      if (other == rank || own[other].communicator != own[rank].communicator) continue;
      if (std::find(late.begin(), late.end(), static_cast<int32_t>(other)) != late.end()) continue;
      sum += own[other].own_ns[unit];
      ++count;
    }
    return own[rank].own_ns[unit] - sum / count;
  }

  std::mt19937 random;
  std::vector<RankOwnTime> own;
};

TEST(CompareBesides, IsTheExcessOverTheMembersThatAreNotLate) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    const DrawnRanks drawn(seed);
    std::mt19937 random(seed);
    std::vector<int32_t> late;
    for (int32_t rank = 0; rank < 4; ++rank) {  // of the first communicator, of which one or two stay
      if (rank != 2 && std::bernoulli_distribution(0.6)(random)) late.push_back(rank);
    }
    std::vector<RankOwnTime> besides = drawn.own;
    CompareBesides(late, besides);
    for (size_t rank = 0; rank < besides.size(); ++rank) {
      for (size_t unit = 0; unit < DrawnRanks::kUnits; ++unit) {
        EXPECT_NEAR(besides[rank].excess_ns[unit], drawn.Excess(rank, unit, late), 1e-3) << seed;
      }
      EXPECT_NEAR(besides[rank].excess_parts[0], drawn.Excess(rank, 0, late), 1e-3) << seed;
    }
  }
}

TEST(CompareBesides, WithoutAnotherMemberThatIsNotLateTheExcessStays) {
  const DrawnRanks drawn(7);
  std::vector<RankOwnTime> besides = drawn.own;
  CompareBesides({0, 1, 2, 3}, besides);
  EXPECT_EQ(besides[4].excess_ns, drawn.own[4].excess_ns);
  besides = drawn.own;
  CompareBesides({0, 1, 2, 3, 4}, besides);
  for (size_t rank = 0; rank < besides.size(); ++rank) EXPECT_EQ(besides[rank].excess_ns, drawn.own[rank].excess_ns);
}

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
