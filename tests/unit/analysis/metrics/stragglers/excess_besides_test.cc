#include "analysis/metrics/stragglers/excess_besides.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

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

TEST(ExcessBesides, IsOverTheMembersThatAreNotLate) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    const DrawnRanks drawn(seed);
    std::mt19937 random(seed);
    std::vector<int32_t> late;
    for (int32_t rank = 0; rank < 4; ++rank) {  // of the first communicator, of which one or two stay
      if (rank != 2 && std::bernoulli_distribution(0.6)(random)) late.push_back(rank);
    }
    const ExcessBesides besides(late, drawn.own);
    for (size_t rank = 0; rank < drawn.own.size(); ++rank) {
      for (size_t unit = 0; unit < DrawnRanks::kUnits; ++unit) {
        EXPECT_NEAR(besides.Of(rank, unit), drawn.Excess(rank, unit, late), 1e-3) << seed;
      }
      EXPECT_NEAR(besides.PartsOf(rank)[0], drawn.Excess(rank, 0, late), 1e-3) << seed;
    }
  }
}

TEST(ExcessBesides, WithoutAnotherMemberThatIsNotLateItIsOverAll) {
  const DrawnRanks drawn(7);
  const std::vector<int32_t> all_but_one = {0, 1, 2, 3};
  const std::vector<int32_t> all = {0, 1, 2, 3, 4};
  const ExcessBesides besides_most(all_but_one, drawn.own);
  const ExcessBesides besides_all(all, drawn.own);
  EXPECT_EQ(besides_most.Of(4, 0), drawn.own[4].excess_ns[0]);
  for (size_t rank = 0; rank < drawn.own.size(); ++rank) {
    for (size_t unit = 0; unit < DrawnRanks::kUnits; ++unit) {
      EXPECT_EQ(besides_all.Of(rank, unit), drawn.own[rank].excess_ns[unit]);
    }
  }
}

TEST(ExcessBesides, WhereTheLateOneWasNotMeasuredItIsOverAll) {
  DrawnRanks drawn(9);
  drawn.own[1].excess_ns[3] = std::numeric_limits<double>::quiet_NaN();
  for (const size_t rank : {0, 2, 3, 4}) {  // over the other three
    double sum = 0;
    for (const size_t other : {0, 2, 3, 4}) sum += other == rank ? 0 : drawn.own[other].own_ns[3];
    drawn.own[rank].excess_ns[3] = drawn.own[rank].own_ns[3] - sum / 3;
  }
  const std::vector<int32_t> late = {1};
  const ExcessBesides besides(late, drawn.own);
  EXPECT_TRUE(std::isnan(besides.Of(1, 3)));
  EXPECT_NEAR(besides.Of(0, 3), drawn.own[0].excess_ns[3], 1e-3);
}

}  // namespace
}  // namespace lockstep
