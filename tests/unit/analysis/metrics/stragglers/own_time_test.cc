// Own time against peers, where some of the collectives have a root.
#include "analysis/metrics/stragglers/own_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/unit/analysis/metrics/stragglers/paced_run.h"

namespace lockstep {
namespace {

constexpr int kSteps = 400;
constexpr double kNoise = 0.02;

// Two ranks that are alike, but that the second one waits for the first in broadcasts between the all-reduces.
std::vector<double> ExcessOfReceiver(unsigned seed, const ExtraOwn& extra = {}) {
  PacedShape shape;
  shape.gpus = 2;
  shape.steps = kSteps;
  shape.layers = 4;
  shape.noise = kNoise;
  shape.broadcasts = true;
  const PacedRun run = MakePacedRun(shape, seed, extra);
  std::vector<double> excess = TestLateness(run.ranks, run.match, run.graph, "").own[1].excess_ns;
  std::erase_if(excess, [](double value) { return std::isnan(value); });
  return excess;
}

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Of four stretches of two ranks, as drawn.
const double kStandardError = 1'000'000 * kNoise * std::sqrt(8.0 / kSteps);

TEST(OwnTime, WhoWaitsForTheRootOfBroadcastsHasNoMoreOfItThanTheRoot) {
  for (unsigned seed = 1; seed <= 5; ++seed) EXPECT_NEAR(MeanOf(ExcessOfReceiver(seed)), 0, 4 * kStandardError) << seed;
}

TEST(OwnTime, WhatAReceiverComputesMoreBeforeAnyCollectiveOfTheStepCounts) {
  constexpr int64_t kMore = 30'000;
  for (int slow_layer = 0; slow_layer < 4; ++slow_layer) {
    const auto extra = [&](int32_t rank, int, int layer) { return rank == 1 && layer == slow_layer ? kMore : 0; };
    EXPECT_NEAR(MeanOf(ExcessOfReceiver(7, extra)), kMore, 4 * kStandardError) << slow_layer;
  }
}

}  // namespace
}  // namespace lockstep
