#include "analysis/metrics/match/join/pair_matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace lockstep {
namespace {

// Least total cost over all sets of pairs, counted from "every row alone".
double NaiveBest(const std::vector<PossiblePair>& possible) {
  double best = 0;
  for (uint32_t set = 0; set < uint32_t{1} << possible.size(); ++set) {
    std::set<size_t> rows;
    double cost = 0;
    size_t pairs = 0;
    for (size_t i = 0; i < possible.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      rows.insert({possible[i].x, possible[i].y});
      cost += possible[i].cost - 2 * kAloneCost;
      ++pairs;
    }
    if (rows.size() == 2 * pairs) best = std::min(best, cost);
  }
  return best;
}

TEST(PairMatching, TotalCostIsTheLeastOfAllPairings) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<PossiblePair> possible;
    for (size_t i = 0; i < 8; ++i) {
      const size_t x = random() % 5;
      possible.push_back({x, 5 + random() % 5, static_cast<double>(random() % 2'000) / 100});
    }
    double cost = 0;
    std::set<size_t> rows;
    const std::vector<ChosenPair> chosen = MatchPairs(10, possible);
    for (const ChosenPair& c : chosen) {
      cost += possible[c.pair].cost - 2 * kAloneCost;
      rows.insert({possible[c.pair].x, possible[c.pair].y});
    }
    EXPECT_EQ(rows.size(), 2 * chosen.size());
    EXPECT_NEAR(cost, NaiveBest(possible), 1e-9);
  }
}

TEST(PairMatching, APairWithoutARivalIsSure) {
  const std::vector<ChosenPair> chosen = MatchPairs(2, {{0, 1, 1.0}});
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_GT(chosen.front().confidence, 0.999);
}

TEST(PairMatching, EqualRivalsLeaveThePairOpen) {
  const std::vector<ChosenPair> chosen = MatchPairs(3, {{0, 1, 1.0}, {0, 2, 1.0}});
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_NEAR(chosen.front().confidence, 0, 1e-9);
}

TEST(PairMatching, AChainIsPairedSoThatNobodyStaysAlone) {
  // The middle pair is the closest one, but would leave both ends without a partner.
  const std::vector<ChosenPair> chosen = MatchPairs(4, {{0, 1, 2.0}, {1, 2, 0.1}, {2, 3, 2.0}});
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[0].pair, 0u);
  EXPECT_EQ(chosen[1].pair, 2u);
  EXPECT_GT(chosen[0].confidence, 0.99);
}

TEST(PairMatching, APairLessLikelyThanALossIsNotMade) { EXPECT_TRUE(MatchPairs(2, {{0, 1, 17.0}}).empty()); }

TEST(PairMatching, ALongChainIsPairedWithoutARowTwice) {
  std::vector<PossiblePair> possible;
  for (size_t i = 0; i + 1 < 100; ++i) possible.push_back({i, i + 1, static_cast<double>(i * 37 % 11)});
  std::set<size_t> rows;
  const std::vector<ChosenPair> chosen = MatchPairs(100, possible);
  for (const ChosenPair& c : chosen) {
    EXPECT_TRUE(rows.insert(possible[c.pair].x).second);
    EXPECT_TRUE(rows.insert(possible[c.pair].y).second);
  }
  EXPECT_GT(chosen.size(), 25u);
}

}  // namespace
}  // namespace lockstep
