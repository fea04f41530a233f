#include "agent/pipeline/step_cursor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lockstep {
namespace {

constexpr int64_t kAnyThread = -1;

// The range begun last of those on the thread that contain t.
int32_t Naive(const std::vector<StepRange>& steps, int64_t t, int64_t tid) {
  int32_t found = -1;
  for (size_t i = 0; i < steps.size(); ++i) {
    if ((tid == kAnyThread || steps[i].tid == tid) && steps[i].start_ns <= t && t < steps[i].end_ns)
      found = static_cast<int32_t>(i);
  }
  return found;
}

TEST(StepCursor, FindsTheInnermostRangeOfTheThreadHoweverManyEndedInsideIt) {
  std::mt19937 random(7);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 30; ++round) {
    std::vector<StepRange> steps = {{0, 9'000, 0, 1}, {10, 8'500, 1, 2}};
    for (int i = 0; i < 60; ++i) {
      const int64_t start = pick(0, 9'000);
      steps.push_back({start, start + pick(0, 300), 2 + i, pick(1, 3)});
    }
    std::sort(steps.begin(), steps.end(),
              [](const StepRange& a, const StepRange& b) { return a.start_ns < b.start_ns; });
    StepCursor cursor(steps, StepThreads::kOwn);
    for (int64_t t = 0; t < 10'000; t += pick(1, 9)) {
      const int64_t tid = pick(1, 4);
      EXPECT_EQ(cursor.At(t, tid), Naive(steps, t, tid)) << "at " << t << " on " << tid;
    }
  }
}

TEST(StepCursor, OfAnyThreadFindsTheOuterRangeHoweverManyEndedInsideIt) {
  std::vector<StepRange> steps = {{0, 100'000, 0, 1}, {5, 90'000, 1, 2}};
  for (int64_t i = 0; i < 500; ++i) steps.push_back({100 + 100 * i, 150 + 100 * i, 2 + i, 1 + i % 3});
  StepCursor any(steps, StepThreads::kAny);
  StepCursor of_others(steps, StepThreads::kOwnIfNamed);
  for (int64_t t = 0; t < 110'000; t += 37) {
    EXPECT_EQ(any.At(t, 1), Naive(steps, t, kAnyThread)) << "at " << t;
    EXPECT_EQ(of_others.At(t, 9), Naive(steps, t, kAnyThread)) << "at " << t;
  }
}

TEST(StepCursor, OfAProfilersStepsHoldsWhatAnyThreadLaunches) {
  const std::vector<StepRange> steps = {{0, 100, 4, 1}, {100, 200, 5, 1}};
  StepCursor cursor(steps, StepThreads::kAny);
  EXPECT_EQ(cursor.At(50, 9), 0);
  EXPECT_EQ(cursor.At(100, 1), 1);
  EXPECT_EQ(cursor.At(200, 1), -1);
}

TEST(StepCursor, OfNamedStepsHoldsWhatThreadsWithoutSuchRangesLaunchMeanwhile) {
  const std::vector<StepRange> steps = {{0, 100, 0, 1}, {50, 80, 1, 2}};
  StepCursor cursor(steps, StepThreads::kOwnIfNamed);
  EXPECT_EQ(cursor.At(40, 2), -1);
  EXPECT_EQ(cursor.At(40, 9), 0);
  EXPECT_EQ(cursor.At(60, 9), 1);
  EXPECT_EQ(cursor.At(60, 1), 0);
}

}  // namespace
}  // namespace lockstep
