#include "analysis/metrics/replay/replay_scale.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace lockstep {
namespace {

constexpr int64_t kScaledSteps = 60;
constexpr int32_t kPlaces = 6;

struct Drawn {
  double speed = 1;     // of the own device: lengths are this many times the usual ones
  double own_long = 0;  // probability that the own work is `times` as long
  double peers_long = 0;
  double times = 5;
  int64_t peers = 3;
};

// Work of 100 to 600 us a place, with noise of 2 %, and that of the peers.
std::vector<ScaledWork> Draw(const Drawn& drawn, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(1, 0.02);
  const auto length = [&](double usual, double probability) {
    return usual * noise(random) * (std::bernoulli_distribution(probability)(random) ? drawn.times : 1);
  };
  std::vector<ScaledWork> work;
  for (int64_t step = 0; step < kScaledSteps; ++step) {
    for (int32_t place = 0; place < kPlaces; ++place) {
      const double usual = 100'000.0 * (1 + place);
      ScaledWork item;
      item.node = static_cast<int32_t>(work.size());
      item.position = place;
      item.step = step;
      item.own_ns = std::llround(length(usual * drawn.speed, drawn.own_long));
      double sum = 0;
      for (int64_t peer = 0; peer < drawn.peers; ++peer) {
        const double of_peer = length(usual, drawn.peers_long);
        sum += of_peer;
        item.largest_ns = std::max(item.largest_ns, of_peer);
      }
      item.peers = drawn.peers;
      item.peers_ns = sum / static_cast<double>(drawn.peers);
      work.push_back(item);
    }
  }
  return work;
}

double SumOf(const std::vector<ScaledResult>& results) {
  double sum = 0;
  for (const ScaledResult& result : results) sum += static_cast<double>(result.length_ns);
  return sum;
}

// What the same draws take without long ones and at the peers' speed.
double UsualSum() { return 100'000.0 * kScaledSteps * kPlaces * (kPlaces + 1) / 2; }

TEST(ScaleToPeers, LongWorkNowAndThenIsBroughtToThePeersAndTheRestStays) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    for (const double times : {1.6, 5.0, 20.0, 100.0}) {
      for (const int64_t peers : {1, 3, 7}) {
        const auto work = Draw({.own_long = 0.05, .times = times, .peers = peers}, seed);
        const std::vector<ScaledResult> results = ScaleToPeers(work, 0, [] { return 1.0; });
        EXPECT_NEAR(SumOf(results), UsualSum(), 0.01 * UsualSum()) << times << " " << peers;
        for (size_t i = 0; i < work.size(); ++i) {
          const bool is_long = static_cast<double>(work[i].own_ns) > 1.3 * 100'000 * (1 + work[i].position);
          if (is_long) continue;
          EXPECT_NEAR(static_cast<double>(results[i].length_ns), static_cast<double>(work[i].own_ns),
                      0.05 * static_cast<double>(work[i].own_ns));
        }
      }
    }
  }
}

TEST(ScaleToPeers, ASlowDeviceThatIsLongNowAndThenLosesBoth) {
  const auto work = Draw({.speed = 1.2, .own_long = 0.04, .times = 10}, 3);
  EXPECT_NEAR(SumOf(ScaleToPeers(work, 0, [] { return 1.0; })), UsualSum(), 0.01 * UsualSum());
}

// Of two ranks, each may be slow for a reason of its own: mending one does not give it the other one's.
TEST(ScaleToPeers, WhoIsFasterThanThePeersStaysSo) {
  for (const int64_t peers : {1, 3}) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
      const std::vector<ScaledWork> work = Draw({.speed = 0.8, .peers = peers}, seed);
      double own = 0;
      for (const ScaledWork& item : work) own += static_cast<double>(item.own_ns);
      EXPECT_NEAR(SumOf(ScaleToPeers(work, 0, [] { return 1.0; })), own, 0.002 * own) << seed;
    }
  }
}

TEST(ScaleToPeers, WhatIsAsOftenLongOnThePeersStays) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const auto work = Draw({.own_long = 0.05, .peers_long = 0.05, .times = 5}, seed);
    double own = 0;
    double peers = 0;
    for (const ScaledWork& item : work) {
      own += static_cast<double>(item.own_ns);
      peers += *item.peers_ns;
    }
    const double expected = std::min(own, peers);  // who has fewer of them by chance keeps that
    EXPECT_NEAR(SumOf(ScaleToPeers(work, 0, [] { return 1.0; })), expected, 0.02 * own) << seed;
  }
}

// A peer's wait that is not recorded lies in its work at one place of one step.
TEST(ScaleToPeers, ManyTimesAsMuchWorkOfThePeersAtOnePlaceChangesNothingElsewhere) {
  std::vector<ScaledWork> work = Draw({.speed = 1.2, .peers = 1}, 5);
  ScaledWork extra = work.front();
  extra.node = static_cast<int32_t>(work.size());
  extra.position = kPlaces;
  extra.step = kScaledSteps / 2;
  extra.own_ns = 1'000;
  extra.peers_ns = 10'000'000;
  const auto elsewhere = [] { return 1.0; };
  const std::vector<ScaledResult> without = ScaleToPeers(work, 0, elsewhere);
  work.push_back(extra);
  const std::vector<ScaledResult> with = ScaleToPeers(work, 0, elsewhere);
  for (size_t i = 0; i < without.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(with[i].length_ns), static_cast<double>(without[i].length_ns), 100) << i;
  }
}

// Stages of a pipeline whose programs have other numbers of places: what stands at the same number is other work.
TEST(ScaleToPeers, PeersAtOtherPlacesOfTheirProgramsGiveNoFactorForTheWhole) {
  std::vector<ScaledWork> work = Draw({.speed = 1.25}, 1);
  for (ScaledWork& item : work) {
    item.elsewhere = true;
    item.peers_ns = 100'000.0 * (kPlaces - item.position) / 2;  // longest where the own work is shortest
  }
  const double own = SumOf(ScaleToPeers(work, 0, [] { return 1.0; }));
  EXPECT_NEAR(SumOf(ScaleToPeers(work, 0, [] { return 0.8; })), 0.8 * own, 1e-6 * own);
}

}  // namespace
}  // namespace lockstep
