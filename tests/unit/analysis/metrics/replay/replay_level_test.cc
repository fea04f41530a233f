#include "analysis/metrics/replay/replay_level.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace lockstep {
namespace {

TEST(LevelToUsual, WhatIsFarLongerThanUsualAtItsPlaceBecomesUsual) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise(1, 0.02);
  std::vector<LoneLength> lengths;
  for (int32_t step = 0; step < 40; ++step) {
    for (int32_t place = 0; place < 3; ++place) {
      const double usual = 50'000.0 * (1 + place);
      const bool stalls = place == 1 && step % 7 == 3;
      lengths.push_back({static_cast<int32_t>(lengths.size()), place,
                         std::llround(usual * noise(random)) + (stalls ? 9'000'000 : 0)});
    }
  }
  const std::vector<ScaledResult> results = LevelToUsual(lengths);
  EXPECT_EQ(results.size(), 6U);
  for (const ScaledResult& result : results) {
    EXPECT_GT(lengths[static_cast<size_t>(result.node)].own_ns, 9'000'000);
    EXPECT_NEAR(static_cast<double>(result.length_ns), 100'000, 3'000);
  }
}

TEST(LevelToUsual, NeitherNoiseNorWhatIsOftenLongNorWhatIsSeenSeldomIsAnException) {
  std::mt19937 random(6);
  std::lognormal_distribution<double> noise(0, 0.3);
  std::vector<LoneLength> lengths;
  for (int32_t step = 0; step < 60; ++step) {
    lengths.push_back({step, 0, std::llround(100'000 * noise(random))});
    lengths.push_back({step, 1, step % 2 == 0 ? 100'000 : 5'000'000});
    if (step < 7) lengths.push_back({step, 2, step == 3 ? 5'000'000 : 100'000});
  }
  EXPECT_TRUE(LevelToUsual(lengths).empty());
}

// Lengths of a rank and its only peer, of which each stalls in steps of its own at the second of three places.
struct StallsOfTwo {
  int own_every = 4;
  int peers_every = 3;
  int64_t own_stall_ns = 700'000;
  int64_t peers_stall_ns = 9'000'000;

  [[nodiscard]] std::vector<ComparedLength> Draw(unsigned seed) const {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(1, 0.02);
    std::vector<ComparedLength> lengths;
    for (int32_t step = 0; step < 60; ++step) {
      for (int32_t place = 0; place < 3; ++place) {
        const bool own = place == 1 && step % own_every == 0;
        const bool peers = place == 1 && !own && step % peers_every == 0;
        const double usual = 50'000.0 * (1 + place);
        lengths.push_back({.node = static_cast<int32_t>(lengths.size()),
                           .position = place,
                           .own_ns = std::llround(usual * noise(random)) + (own ? own_stall_ns : 0),
                           .peers_ns = usual * noise(random) + static_cast<double>(peers ? peers_stall_ns : 0)});
        lengths.back().largest_ns = lengths.back().peers_ns;
      }
    }
    return lengths;
  }
};

TEST(LevelToPeers, TheStallsOfTheOnlyPeerNeitherHideOwnOnesNorAreTakenOver) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const std::vector<ComparedLength> lengths = StallsOfTwo{}.Draw(seed);
    const std::vector<ScaledResult> results = LevelToPeers(lengths);
    for (size_t i = 0; i < results.size(); ++i) {
      const double usual = 50'000.0 * (1 + lengths[i].position);
      EXPECT_NEAR(static_cast<double>(results[i].length_ns), usual, 0.15 * usual) << seed << " " << i;
    }
  }
}

// Each stalls in nearly half of the steps, so that no difference between them is usual.
TEST(LevelToPeers, OfTwoThatStallInManyStepsEachIsBroughtToWhatTheOtherOneTakes) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(1, 0.02);
    std::bernoulli_distribution stalls(0.47);
    std::vector<ComparedLength> lengths;
    double expected = 0;
    for (int32_t step = 0; step < 60; ++step) {
      const double own = 100'000 * noise(random) + (stalls(random) ? 870'000 : 0);
      const double peers = 100'000 * noise(random) + (stalls(random) ? 680'000 : 0);
      lengths.push_back({.node = step, .own_ns = std::llround(own), .peers_ns = peers, .largest_ns = peers});
      expected += std::min(own, peers);
    }
    double sum = 0;
    for (const ScaledResult& result : LevelToPeers(lengths)) sum += static_cast<double>(result.length_ns);
    EXPECT_NEAR(sum, expected, 0.03 * expected) << seed;
  }
}

// The other one of a pair pauses in every second step: no difference between the two is usual either, and mending who
// does not pause takes nothing away.
TEST(LevelToPeers, WhoIsFasterThanTheOnlyPeerStaysSo) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(1, 0.02);
    std::vector<ComparedLength> lengths;
    double own = 0;
    for (int32_t step = 0; step < 60; ++step) {
      const double peers = 200'000 * noise(random) + (step % 2 == 0 ? 3'290'000 : 0);
      lengths.push_back({.node = step, .own_ns = std::llround(200'000 * noise(random)), .peers_ns = peers});
      lengths.back().largest_ns = peers;
      own += static_cast<double>(lengths.back().own_ns);
    }
    double sum = 0;
    for (const ScaledResult& result : LevelToPeers(lengths)) sum += static_cast<double>(result.length_ns);
    EXPECT_NEAR(sum, own, 0.02 * own) << seed;
  }
}

// Four ranks, of which each stalls with its own probability. What the first one takes, and what is left of its stalls.
struct StallsOfFour {
  double own_ns = 0;
  double levelled_ns = 0;
};
StallsOfFour LevelStallsOfFour(unsigned seed, const std::array<double, 4>& probabilities) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(1, 0.02);
  std::vector<ComparedLength> lengths;
  StallsOfFour out;
  constexpr double kUsual = 50'000;
  constexpr double kStall = 1'700'000;
  for (int32_t step = 0; step < 70; ++step) {
    std::array<bool, 4> stalls{};
    for (size_t rank = 0; rank < 4; ++rank) stalls[rank] = std::bernoulli_distribution(probabilities[rank])(random);
    ComparedLength item{.node = step, .own_ns = std::llround(kUsual * noise(random) + (stalls[0] ? kStall : 0))};
    item.peers_ns = kUsual;
    item.variance_ns2 = 1e6;
    item.largest_ns = kUsual + 1'000;
    item.peers = 3;
    for (int32_t rank = 1; rank < 4; ++rank) {
      if (!stalls[static_cast<size_t>(rank)]) continue;
      item.peers = 2;
      item.largest_ns = kUsual + kStall;
      item.stalled_rank = rank;
    }
    out.own_ns += static_cast<double>(item.own_ns) - kUsual;
    lengths.push_back(item);
  }
  for (const ScaledResult& result : LevelToPeers(lengths))
    out.levelled_ns += static_cast<double>(result.length_ns) - kUsual;
  return out;
}

TEST(LevelToPeers, TheManyStallsOfOnePeerDoNotHideTheFewOfThisRank) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const StallsOfFour of = LevelStallsOfFour(seed, {0.12, 0.26, 0, 0});
    EXPECT_LT(of.levelled_ns, 0.1 * of.own_ns) << seed;
  }
}

TEST(LevelToPeers, StallsThatAllPeersHaveAsOftenStay) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const StallsOfFour of = LevelStallsOfFour(seed, {0.08, 0.08, 0.08, 0.08});
    EXPECT_GT(of.levelled_ns, 0.9 * of.own_ns) << seed;
  }
}

TEST(LevelToPeers, PausesAsTheOnlyPeerHasThemStay) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const StallsOfTwo pauses{.own_every = 20, .peers_every = 20, .own_stall_ns = 120'000, .peers_stall_ns = 130'000};
    std::vector<ComparedLength> lengths = pauses.Draw(seed);
    for (size_t step = 7; step < 60; step += 20) lengths[3 * step + 1].peers_ns += 130'000;
    double sum = 0;
    double own = 0;
    for (const ComparedLength& item : lengths) own += static_cast<double>(item.own_ns);
    for (const ScaledResult& result : LevelToPeers(lengths)) sum += static_cast<double>(result.length_ns);
    EXPECT_NEAR(sum, own, 0.01 * own) << seed;
  }
}

}  // namespace
}  // namespace lockstep
