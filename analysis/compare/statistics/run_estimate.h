// What one run says of one metric: its level, how well the run knows it, and whether it drifts.
//
// Input: one value a step, in step order, without the warm-up. Values that are not finite, beyond the range of int64
// or, on the logarithmic scale, not above 0, are left out and counted. Pure, deterministic, thread safe. No errors: a
// run of too few steps says so by its number of effective steps.
//
// Level. On the logarithmic scale, of times that are never 0: the 20 % trimmed mean of the logarithms (Yuen, Biometrika
// 1974), which is the typical step. Fewer than a fifth of the steps (checkpoints, pauses of a garbage collector,
// outliers) move neither it nor its error; a change of them alone shows in the plain mean only. On the plain scale, of
// waits and of parts of a step: the plain mean, so that the levels of the parts sum to that of the whole.
//
// Error. Variance of the influence values (winsorised) by long_run_variance.h, so correlated steps count less.
//
// Drift. The change of the level from the first to the last step as a straight line has it: 1.5 times the difference of
// the levels of the last and the first third, which is nearly as sharp as least squares (variance 13.5 against 12) and
// as robust as the level. A drift that is significant is taken out before level and error are measured; compare_sides.h
// adds to the interval what the drifts of two runs differ by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::compare {

enum class Scale : uint8_t { kLog, kLevel };

struct RunEstimate {
  size_t steps = 0;        // that counted
  size_t unusable = 0;     // left out
  double level = 0;        // kLog: logarithm of ns; kLevel: ns
  double error = 0;        // standard error of the level within the run
  double tau = 1;          // steps that are worth one independent step
  double effective = 0;    // independent steps
  bool drifts = false;     // the drift is significant: it is taken out of level and error
  double drift = 0;        // last step less first step
  double drift_error = 0;  // its standard error
  friend bool operator==(const RunEstimate&, const RunEstimate&) = default;
};

// A drift with a smaller chance than this in a run without drift is significant.
inline constexpr double kDriftSignificance = 0.01;
// A run of fewer effective steps than this has no usable error of its own: tau is then not known to a factor of two.
inline constexpr double kFewestEffectiveSteps = 8;

[[nodiscard]] RunEstimate EstimateRun(std::span<const double> values, Scale scale);

// Degrees of freedom of a run's error: tau is estimated as well, which halves them (compare.md A3).
[[nodiscard]] double DegreesOf(const RunEstimate& run);

// How many steps at the start of a run are warm-up, by its step times: up to the first step that is itself within 5
// median absolute deviations of the median of the run and starts ten steps whose median is within 3 of them; at most
// 30 % of the run; 0 for a run of fewer than 20 steps or with a value
// that is no time. A drift over the whole run is none: its first steps are 2 away.
// Found once a run and dropped for all metrics of it.
[[nodiscard]] size_t WarmUpSteps(std::span<const double> step_times);

}  // namespace lockstep::compare
