// Did a metric change between two sides (base, fresh) of one or more runs each?
//
// Model. The level of a run = the level of its code + an effect of the run (placement, clocks, neighbours) + the error
// within the run. The difference d = mean level of fresh - mean level of base.
// - With repeats (noise_floor.h), the run is the unit: d +- t * s * sqrt(1/k_base + 1/k_fresh), with s pooled over both
//   sides, k_base + k_fresh - 2 degrees of freedom (Student's two-sample t). s already holds all the noise.
// - Otherwise: variance = squared errors within the runs / k^2 + spread^2 * (1/k_base + 1/k_fresh), degrees of freedom
// by
//   Satterthwaite (1946). Refused (kNotEnoughSteps) if a run has fewer than 8 effective steps.
// - Runs that drift differently have no single difference, and nothing but repeats or earlier runs says what that is
//   worth. Without them the interval is that of the difference anywhere between the first and the last step: wider by
//   half of the difference of the drifts on both sides, and by the error of it. A drift that both sides share (they
//   both heat up) cancels out.
//
// Verdict, the first that holds:
//   kNotEnoughSteps  see above, or a side without a usable run.
//   kSame            the whole interval lies within +-1 % (kNegligible): a change, if any, is too small to matter.
//   kSlower/kFaster  the interval excludes 0. The noise between runs is inside of the interval, so nothing is added a
//                    second time: an interval that had to lie outside of the floor as well would miss a change of 2 %
//                    in half of the cases. Of identical code at most 5 % are called slower or faster.
//   kSame            the interval holds 0, and the whole of it lies within +-`resolution`, the change that this
//                    comparison finds in four of five cases, and within +-5 % (kMostCalledSame). `excluded` is what a
//                    reader has to see next to the word: "same: a change of 2.3 % or more is excluded".
//   kUnclear         otherwise. resolution.h says how many more steps or repeats would do.
// The same runs on both sides: difference 0, interval 0 to 0, kSame. A run that a side has twice counts once: a copy of
// a run says nothing about the noise between runs.
//
// Units: logarithm or ns (Scale) for all fields, but for ratios and the ns fields. More is slower. Pure, deterministic,
// thread safe; swapped sides give exactly mirrored differences; the order of repeats makes no difference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "analysis/compare/statistics/noise_floor.h"
#include "analysis/compare/statistics/run_estimate.h"

namespace lockstep::compare {

enum class Verdict : uint8_t { kNotEnoughSteps, kSame, kSlower, kFaster, kUnclear };

// Shares: of the level (kLog), of the reference (kLevel).
inline constexpr double kNegligible = 0.01;
inline constexpr double kMostCalledSame = 0.05;
// Drifts of two runs that differ with a smaller chance than this without a drift widen the interval. Large on purpose:
// a drift that is missed makes a false alarm in one of ten drifting pairs at 0.1, a drift that is seen wrongly only
// costs width. CompareCalibration.ADriftThatTheRunsDoNotShareIsNoChange holds it.
inline constexpr double kDriftsDiffer = 0.25;
// How often a change as large as the resolution is found.
inline constexpr double kPower = 0.8;

struct Interval {
  double low = 0;
  double high = 0;
};

struct Comparison {
  Verdict verdict = Verdict::kNotEnoughSteps;
  double base_level = 0;  // ns
  double fresh_level = 0;
  double difference = 0;
  Interval interval;  // 95 %
  double ratio = 1;   // fresh / base; 0 where base is not above 0
  Interval ratio_interval;
  double change_ns = 0;  // fresh - base
  Interval change_ns_interval;
  double p = 1;             // of a difference at least as large without a change
  double error = 0;         // standard error of the difference
  double degrees = 0;       // degrees of freedom of it
  double error_within = 0;  // the part of `error` that more steps would reduce
  double drift = 0;         // half of the difference of the drifts, which the interval holds
  double resolution = 0;
  double excluded = 0;   // the farther end of the interval from 0
  size_t base_runs = 0;  // that counted
  size_t fresh_runs = 0;
  size_t steps = 0;            // the fewest of any run
  double effective_steps = 0;  // the fewest of any run
  double steps_needed = 0;     // kNotEnoughSteps: a run, for 8 effective steps, if it goes on as it is
  NoiseFloor floor;
};

struct CompareOptions {
  Scale scale = Scale::kLog;
  double reference = 0;  // kLevel: step time of the base side in ns, what shares are of
  // False: the error within the runs only. For the self check, where both sides are one run.
  bool with_floor = true;
};

[[nodiscard]] Comparison CompareSides(std::span<const RunEstimate> base, std::span<const RunEstimate> fresh,
                                      std::span<const EarlierRun> earlier, const CompareOptions& options);

}  // namespace lockstep::compare
