#include "analysis/metrics/match/lanes/lane_walker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

namespace lockstep {
namespace {

std::vector<LaneEvent> RandomLane(uint64_t seed, size_t n) {
  std::mt19937_64 random(seed);
  std::vector<LaneEvent> lane;
  int64_t end = 0;
  for (size_t i = 0; i < n; ++i) {
    end += static_cast<int64_t>(random() % 40) * 1'000;  // some end together
    lane.push_back({end - 5'000, end, static_cast<uint32_t>(random() % 2)});
  }
  return lane;
}

// The distance to the nearest end of the kind, by looking at all of them.
int64_t NaiveDistance(const LaneEvent& event, const std::vector<LaneEvent>& lane, int64_t offset, int64_t cap) {
  int64_t distance = cap;
  for (const LaneEvent& other : lane) {
    if (other.kind == event.kind) distance = std::min(distance, std::abs(event.end_ns - offset - other.end_ns));
  }
  return distance;
}

TEST(LaneWalker, TheNearestEndIsFoundFromWhereverTheSearchBegins) {
  constexpr int64_t kCap = 30'000;
  for (const size_t n : {1, 2, 3, 50, 200}) {
    const std::vector<LaneEvent> a = RandomLane(1, 60);
    const std::vector<LaneEvent> b = RandomLane(n, n);
    const LaneWalker walker(a, b, kCap);
    for (const int64_t offset : {int64_t{0}, int64_t{-777'000}, int64_t{12'345}, int64_t{5'000'000}}) {
      for (size_t i = 0; i < a.size(); ++i) {
        for (const size_t begin : {size_t{0}, n / 3, n - 1, n, size_t{1'000}}) {
          size_t near = begin;
          const LaneWalker::Step step = walker.Nearest(i, static_cast<double>(offset), near);
          const auto sooner = [](const LaneEvent& e, int64_t t) { return e.end_ns < t; };
          const auto first = std::lower_bound(b.begin(), b.end(), a[i].end_ns - offset, sooner);
          ASSERT_EQ(near, static_cast<size_t>(first - b.begin()));
          ASSERT_EQ(step.distance_ns, NaiveDistance(a[i], b, offset, kCap));
        }
      }
    }
  }
}

// Periodic with some jitter: many offsets come about as close.
std::vector<LaneEvent> PeriodicLane(uint64_t seed, size_t n) {
  std::mt19937_64 random(seed);
  std::vector<LaneEvent> lane;
  int64_t end = 0;
  for (size_t i = 0; i < n; ++i) {
    end += 40'000 + static_cast<int64_t>(i % 3) * 15'000 + static_cast<int64_t>(random() % 6'000);
    lane.push_back({end - 5'000, end, static_cast<uint32_t>(i % 3 == 0 ? 1 : 0)});
  }
  return lane;
}

TEST(OffsetSearch, GivingUpEarlyChangesNoneOfTheBestOffsets) {
  constexpr int64_t kReach = 20'000'000;
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    const std::vector<LaneEvent> a = PeriodicLane(seed, 300);
    const std::vector<LaneEvent> b = PeriodicLane(seed + 100, 300);
    const OffsetSearch search(a, b, 16'000);
    for (size_t probe = 0; probe < a.size(); probe += 23) {
      const auto all = search.Finalists({probe, 0, kReach, a.size()});  // of so many none is given up
      for (const size_t limit : {size_t{1}, size_t{3}}) {
        const auto best = search.Finalists({probe, 0, kReach, limit});
        ASSERT_EQ(best.size(), std::min(limit, all.size()));
        for (size_t i = 0; i < best.size(); ++i) {
          EXPECT_EQ(best[i].offset, all[i].offset);
          EXPECT_EQ(best[i].score, all[i].score);
        }
      }
    }
  }
}

TEST(OffsetSearch, OffsetsThatScoreMoreThanAskedForAreLeftOut) {
  const std::vector<LaneEvent> a = PeriodicLane(1, 300);
  const std::vector<LaneEvent> b = PeriodicLane(101, 300);
  const OffsetSearch search(a, b, 16'000);
  const auto all = search.Finalists({150, 0, 20'000'000, a.size()});
  ASSERT_GT(all.size(), 2U);
  EXPECT_EQ(search.Finalists({150, 0, 20'000'000, a.size(), all[1].score}).size(), 2U);
}

TEST(RoundToNs, RoundsAsTheLibraryDoes) {
  for (const double value : {0.0, 0.49999999999999994, 0.5, -0.5, 1.5, -1.5, 2.5, -2.4999, 1e15 + 0.5, -1e15 - 0.5,
                             4503599627370495.5, -4503599627370495.5, 9e17}) {
    EXPECT_EQ(RoundToNs(value), std::llround(value)) << value;
  }
}

}  // namespace
}  // namespace lockstep
