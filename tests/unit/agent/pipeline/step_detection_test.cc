#include "agent/pipeline/step_detection.h"

#include <gtest/gtest.h>

#include "analysis/base/time.h"
#include "tests/support/time_units.h"

namespace lockstep {
namespace {

// Decode steps of `layers` layers, every launch 10 us after the one before, 200 us of pause between steps.
struct Capture {
  explicit Capture(bool launches) : with_launches(launches) {}

  void Launch(std::string_view kernel) {
    ++correlation;
    now += 10 * kUs;
    if (with_launches) {
      ApiRecord api;
      api.start_ns = now - 50 * kUs;
      api.duration_ns = 4 * kUs;
      api.correlation = correlation;
      api.has_correlation = true;
      api.kind = ApiKind::kLaunch;
      api.name = collector.InternName("cudaLaunchKernel");
      EXPECT_TRUE(collector.Api(api).ok());
    }
    DeviceRecord record;
    record.start_ns = now;
    record.duration_ns = 9 * kUs;
    record.correlation = correlation;
    record.has_correlation = with_launches;
    record.name = collector.InternName(kernel);
    EXPECT_TRUE(collector.Device(record).ok());
  }
  void Steps(int steps, int layers) {
    for (int step = 0; step < steps; ++step) {
      now += 200 * kUs;
      Launch("embedding");
      for (int layer = 0; layer < layers; ++layer) {
        Launch("gemm");
        Launch("attention");
      }
      Launch("sampler");
    }
  }
  const std::vector<StepRange>& Detect() {
    EXPECT_TRUE(collector.Finish().ok());
    EXPECT_TRUE(DetectSteps(collector).ok());
    return collector.steps()[process];
  }

  RecordCollector collector{CollectorOptions{testing::TempDir(), 1 << 20}};
  uint32_t process = collector.AddProcess(42);
  bool with_launches = true;
  uint64_t correlation = 0;
  int64_t now = kMs;
};

TEST(StepDetection, AStepBeginsWithTheLaunchOfItsAnchor) {
  Capture capture(true);
  capture.Steps(6, 10);
  const auto& steps = capture.Detect();
  ASSERT_EQ(steps.size(), 6U);
  EXPECT_EQ(steps[0].start_ns, kMs + 210 * kUs - 50 * kUs);
  EXPECT_EQ(steps[1].start_ns, steps[0].end_ns);
  EXPECT_EQ(steps[1].start_ns - steps[0].start_ns, 200 * kUs + 22 * 10 * kUs);
  EXPECT_EQ(capture.collector.step_source(0), StepSource::kDetected);
  EXPECT_FALSE(capture.collector.steps_by_device(0));
}

TEST(StepDetection, WithoutLaunchesAStepBeginsWithTheAnchorItself) {
  Capture capture(false);
  capture.Steps(6, 10);
  const auto& steps = capture.Detect();
  ASSERT_EQ(steps.size(), 6U);
  EXPECT_EQ(steps[0].start_ns, kMs + 210 * kUs);
  EXPECT_TRUE(capture.collector.steps_by_device(0));
}

TEST(StepDetection, AStepThatTheCaptureCutsIsNone) {
  Capture capture(true);
  capture.Steps(6, 10);
  capture.now += 200 * kUs;
  capture.Launch("embedding");
  capture.Launch("gemm");
  EXPECT_EQ(capture.Detect().size(), 6U);
}

TEST(StepDetection, MarkedStepsAreLeftAlone) {
  Capture capture(true);
  capture.Steps(6, 10);
  HostRecord step;
  step.kind = HostKind::kStep;
  step.start_ns = kMs;
  step.duration_ns = kMs;
  step.step_number = 7;
  step.name = capture.collector.InternName("ProfilerStep#7");
  EXPECT_TRUE(capture.collector.Host(step).ok());
  const auto& steps = capture.Detect();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].number, 7);
  EXPECT_EQ(capture.collector.step_source(0), StepSource::kProfiler);
}

TEST(StepDetection, WhatDoesNotRepeatHasNoSteps) {
  Capture capture(true);
  capture.Steps(1, 30);
  EXPECT_TRUE(capture.Detect().empty());
  EXPECT_EQ(capture.collector.step_source(0), StepSource::kNone);
}

TEST(StepDetection, OneKernelOverAndOverIsNoStep) {
  Capture capture(true);
  for (int i = 0; i < 1'000; ++i) capture.Launch("copy_kernel");
  EXPECT_TRUE(capture.Detect().empty());
}

TEST(StepDetection, TheLastStepEndsWithItsWork) {
  Capture capture(true);
  capture.Steps(6, 10);
  const auto& steps = capture.Detect();
  ASSERT_EQ(steps.size(), 6U);
  EXPECT_EQ(steps[5].end_ns - steps[5].start_ns, steps[4].end_ns - steps[4].start_ns);
}

TEST(StepDetection, AFewLaunchesThatAreMissingMergeNoSteps) {
  Capture capture(true);
  for (int step = 0; step < 40; ++step) {
    capture.with_launches = step != 17;
    capture.Steps(1, 10);
  }
  EXPECT_EQ(capture.Detect().size(), 40U);
}

}  // namespace
}  // namespace lockstep
