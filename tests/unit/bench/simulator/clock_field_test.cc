#include "bench/simulator/cluster/clock_field.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>

namespace lockstep {
namespace {

constexpr int64_t kStartNs = 1'000'000'000'000;
constexpr int64_t kSecond = 1'000'000'000;

struct Field {
  explicit Field(const ClockMagnitudes& clock, uint64_t seed = 5, int64_t length_ns = 10 * kSecond)
      : options{.tp = 8, .hosts = 4, .seed = seed, .clock = clock}, rng(seed) {
    EXPECT_TRUE(CompleteLayout(options).ok());
    cluster = MakeCluster(options, rng);
    clocks.emplace(options, cluster, rng, kStartNs, kStartNs + length_ns);
  }
  SimulatorOptions options;
  CounterRng rng;
  Cluster cluster;
  std::optional<ClockField> clocks;
};

TEST(ClockField, OffsetsStayWithinTheirMagnitude) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Field field({.offset_ms = 5}, seed);
    for (int32_t host = 0; host < 4; ++host) {
      EXPECT_LE(std::abs(field.clocks->Theta(host, kStartNs)), 5'000'000);
      EXPECT_EQ(field.clocks->Theta(host, kStartNs), field.clocks->Theta(host, kStartNs + kSecond));
    }
  }
}

TEST(ClockField, DriftIsAtMostThreeOfItsDeviations) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Field field({.drift_ppm = 10}, seed);
    for (int32_t host = 0; host < 4; ++host) {
      EXPECT_EQ(field.clocks->Theta(host, kStartNs), 0);
      EXPECT_LE(std::abs(field.clocks->Theta(host, kStartNs + kSecond)), 30'000);
    }
  }
}

TEST(ClockField, WanderGrowsAsARandomWalkOfTheRate) {
  double squares = 0;
  int count = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Field field({.wander_ppm = 0.02}, seed);
    for (int32_t host = 0; host < 4; ++host) {
      const auto theta = static_cast<double>(field.clocks->Theta(host, kStartNs + 10 * kSecond));
      squares += theta * theta;
      ++count;
    }
  }
  // Rates are sums of normals of 0.02 ppm every 0.1 s: after n intervals theta has the variance n (n-1) (2n-1) / 6 of
  // the squared 2 ns that one change adds an interval.
  const double n = 100;
  EXPECT_NEAR(std::sqrt(squares / count), 2 * std::sqrt(n * (n - 1) * (2 * n - 1) / 6), 110);
}

TEST(ClockField, BetweenKnotsTheClockIsLinear) {
  const Field field({.offset_ms = 1, .drift_ppm = 20, .step_us = 300, .wander_ppm = 1});
  for (int32_t host = 0; host < 4; ++host) {
    const std::vector<int64_t> knots = field.clocks->KnotsOf(host);
    ASSERT_EQ(knots.front(), kStartNs);
    ASSERT_EQ(knots.back(), kStartNs + 10 * kSecond);
    for (size_t i = 1; i < knots.size(); ++i) {
      const int64_t middle = knots[i - 1] + (knots[i] - 1 - knots[i - 1]) / 2;
      const int64_t mean = (field.clocks->Theta(host, knots[i - 1]) + field.clocks->Theta(host, knots[i] - 1)) / 2;
      EXPECT_NEAR(static_cast<double>(field.clocks->Theta(host, middle)), static_cast<double>(mean), 2);
    }
  }
}

TEST(ClockField, ADevicesClockIsItsHostsPlusItsBias) {
  const Field field({.offset_ms = 1, .bias_us = 2});
  for (int32_t rank = 0; rank < 8; ++rank) {
    EXPECT_LE(std::abs(field.clocks->DeviceBias(rank)), 6'000);
    EXPECT_EQ(field.clocks->TrueTheta(rank, kStartNs),
              field.clocks->Theta(rank / 2, kStartNs) + field.clocks->DeviceBias(rank));
  }
}

// Offset and jitter move what a stream shows, but never one record over the next.
TEST(ClockField, JitterHasItsSizeAndKeepsTheOrderOfAStream) {
  const Field field({.offset_ms = 1, .jitter_us = 1, .tick_ns = 1});
  const auto program = MakeProgram(field.options);
  RankTimeline timeline;
  const std::vector<Op>& ops = program->StepOf(0, 0).ops;
  for (int32_t step = 0; step < 2; ++step) {
    for (uint32_t op = 0; op < ops.size(); ++op) {
      const int64_t at = kStartNs + (int64_t{step} * static_cast<int64_t>(ops.size()) + op) * 20'000;
      Activity activity{.call_start_ns = at, .call_end_ns = at + 10, .step = step, .op = op};
      if (StartsDeviceWork(ops[op].kind)) {
        activity.start_ns = at + 1'000;
        activity.end_ns = at + 9'000;
      }
      timeline.activities.push_back(activity);
    }
  }
  const RankTimeline truth = timeline;
  field.clocks->Record(0, *program, timeline);
  double squares = 0;
  int count = 0;
  int64_t last_end = 0;
  for (size_t i = 0; i < truth.activities.size(); ++i) {
    if (truth.activities[i].end_ns == 0) continue;
    const Activity& shown = timeline.activities[i];
    const auto jitter = static_cast<double>(shown.start_ns - truth.activities[i].start_ns -
                                            field.clocks->Theta(0, truth.activities[i].start_ns));
    squares += jitter * jitter;
    ++count;
    EXPECT_GE(shown.start_ns, last_end);
    last_end = shown.end_ns;
  }
  ASSERT_GT(count, 100);
  EXPECT_NEAR(std::sqrt(squares / count), 1'000, 150);
}

TEST(ClockField, WithoutAnyMagnitudeThereIsNoJitter) {
  const Field field({.jitter_us = 1});
  const auto program = MakeProgram(field.options);
  const std::vector<Op>& ops = program->StepOf(0, 0).ops;
  RankTimeline timeline;
  for (uint32_t op = 0; op < ops.size(); ++op) {
    if (!StartsDeviceWork(ops[op].kind)) continue;
    const int64_t at = kStartNs + op * int64_t{3'200};
    timeline.activities.push_back(
        {.call_start_ns = at, .call_end_ns = at, .start_ns = at, .end_ns = at + 32, .op = op});
  }
  const RankTimeline truth = timeline;
  field.clocks->Record(0, *program, timeline);
  for (size_t i = 0; i < truth.activities.size(); ++i) {
    EXPECT_EQ(timeline.activities[i].start_ns, truth.activities[i].start_ns);
  }
}

}  // namespace
}  // namespace lockstep
