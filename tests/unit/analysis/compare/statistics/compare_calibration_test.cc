#include "bench/accuracy/compare_calibration.h"

#include <gtest/gtest.h>

namespace lockstep::compare {
namespace {

constexpr int kPairs = 1'000;
// 7 % and the scatter of 1,000 draws (two standard deviations).
constexpr double kMostAlarms = 0.07 + 0.016;

double ShareOf(int count, const CalibrationCounts& counts) { return static_cast<double>(count) / counts.pairs; }

TEST(CompareCalibration, ErrorsWithinRunsOfIdenticalCodeRaiseFewAlarms) {
  for (const StepKind kind : kStepKinds) {
    const CalibrationCounts counts = Calibrate({.kind = kind}, kPairs, 1);
    EXPECT_LE(ShareOf(counts.excludes_zero, counts), kind == StepKind::kDriftOwn ? 0.10 : kMostAlarms)
        << static_cast<int>(kind);
    EXPECT_LE(ShareOf(counts.slower + counts.faster, counts), kMostAlarms) << static_cast<int>(kind);
    EXPECT_LE(ShareOf(counts.refused, counts), 0.07);
  }
}

TEST(CompareCalibration, OnePairWithAFloorRaisesFewAlarms) {
  for (const StepKind kind : kStepKinds) {
    for (const size_t earlier : {0, 5}) {
      const CalibrationCase asked{.kind = kind, .run_sd = 0.0072, .earlier_runs = earlier, .with_floor = true};
      const CalibrationCounts counts = Calibrate(asked, kPairs / 2, 2);
      EXPECT_LE(ShareOf(counts.slower + counts.faster, counts), kMostAlarms + 0.007) << static_cast<int>(kind);
    }
  }
}

TEST(CompareCalibration, TheIntervalHoldsTheTruth) {
  for (const StepKind kind : kStepKinds) {
    for (const size_t repeats : {1, 3}) {
      const CalibrationCase asked{.kind = kind,
                                  .repeats = repeats,
                                  .run_sd = 0.005,
                                  .earlier_runs = repeats == 1 ? size_t{6} : size_t{0},
                                  .with_floor = true,
                                  .random_change = true};
      const CalibrationCounts counts = Calibrate(asked, kPairs / 2, 3);
      const double held = static_cast<double>(counts.held) / (counts.pairs - counts.refused);
      EXPECT_GE(held, 0.92 - 0.012) << static_cast<int>(kind) << " " << repeats;
      EXPECT_LE(held, 0.98 + 0.012) << static_cast<int>(kind) << " " << repeats;
    }
  }
}

TEST(CompareCalibration, ThreeRepeatsFindTwoPercent) {
  CalibrationCase asked{.fewest_steps = 50,
                        .most_steps = 300,
                        .most_rho = 0.9,
                        .long_enough = false,
                        .repeats = 3,
                        .run_sd = 0.005,
                        .with_floor = true};
  const CalibrationCounts same = Calibrate(asked, kPairs, 4);
  EXPECT_LE(ShareOf(same.slower + same.faster, same), 0.06);
  EXPECT_GE(ShareOf(same.same, same), 0.5);
  asked.sd = 0.01;
  asked.change = 0.02;
  const CalibrationCounts two = Calibrate(asked, kPairs, 4);
  EXPECT_GE(ShareOf(two.slower, two), 0.80);
  EXPECT_EQ(two.faster, 0);
  asked.change = 0.03;
  const CalibrationCounts three = Calibrate(asked, kPairs, 4);
  EXPECT_GE(ShareOf(three.slower, three), 0.97);
}

TEST(CompareCalibration, ADriftThatTheRunsDoNotShareIsNoChange) {
  const CalibrationCounts counts = Calibrate({.kind = StepKind::kDriftOwn}, 2 * kPairs, 5);
  EXPECT_LE(ShareOf(counts.slower + counts.faster, counts), 0.08);  // 0.10 with kDriftsDiffer of 0.1
}

TEST(CompareCalibration, PlainMeansOfIdenticalCodeRaiseFewAlarms) {
  for (const StepKind kind : {StepKind::kNormal, StepKind::kHeavyTailed, StepKind::kPeriodic, StepKind::kWaits}) {
    const CalibrationCounts counts = Calibrate({.kind = kind, .scale = Scale::kLevel}, kPairs, 6);
    EXPECT_LE(ShareOf(counts.excludes_zero, counts), kMostAlarms) << static_cast<int>(kind);
    EXPECT_GE(static_cast<double>(counts.held) / (counts.pairs - counts.refused), 0.92);
  }
}

TEST(CompareCalibration, TheSameSeedGivesTheSameFigures) {
  const CalibrationCounts one = Calibrate({.kind = StepKind::kPauses}, 50, 7);
  const CalibrationCounts other = Calibrate({.kind = StepKind::kPauses}, 50, 7);
  EXPECT_EQ(one.half, other.half);
  EXPECT_EQ(one.held, other.held);
}

}  // namespace
}  // namespace lockstep::compare
