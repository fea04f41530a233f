// How often the comparison of two sides is wrong, by random draws whose truth is known. Pure but for the seed's
// generator: the same seed gives the same figures.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/compare/statistics/compare_sides.h"
#include "bench/accuracy/random_steps.h"

namespace lockstep::compare {

inline constexpr double kTrueLevel = 250e6;  // ns

struct CalibrationCase {
  StepKind kind = StepKind::kNormal;
  size_t fewest_steps = 30;  // the number of steps is drawn, evenly in its logarithm
  size_t most_steps = 1000;
  double least_rho = 0;
  double most_rho = 0.95;
  bool long_enough = true;  // only runs of >= 8 effective steps, by the true rho
  size_t repeats = 1;       // a side
  double run_sd = 0;        // effect of the run on the logarithm of its level
  size_t earlier_runs = 0;  // of the same context
  bool with_floor = false;
  bool random_change = false;  // a true change of -10 to +30 %, else `change`
  double change = 0;
  double period = 0;       // 0: drawn
  double sd = 0;           // of the steps; 0: drawn
  double new_run_sd = -1;  // of the other side, when it differs
  Scale scale = Scale::kLog;
  bool warm_up = true;  // looks for a warm-up
};

struct CalibrationCounts {
  int pairs = 0;
  int slower = 0;
  int faster = 0;
  int same = 0;
  int unclear = 0;
  int refused = 0;
  int excludes_zero = 0;  // intervals, however small the difference
  int held = 0;           // intervals that hold the truth, of those not refused
  double half = 0;        // mean half width of the interval
};

inline StepShape ShapeOf(std::mt19937_64& random, const CalibrationCase& asked) {
  for (;;) {
    const auto steps = static_cast<size_t>(std::exp(Uniform(random, std::log(static_cast<double>(asked.fewest_steps)),
                                                            std::log(static_cast<double>(asked.most_steps) + 1))));
    const double rho = Uniform(random, asked.least_rho, asked.most_rho);
    if (asked.long_enough && static_cast<double>(steps) * (1 - rho) / (1 + rho) < kFewestEffectiveSteps) continue;
    StepShape shape = RandomShape(random, asked.kind, steps, rho);
    if (asked.sd > 0) shape.sd = asked.sd;
    if (asked.period > 0) shape.period = asked.period;
    return shape;
  }
}

inline RunEstimate RandomRunEstimate(std::mt19937_64& random, const StepShape& shape, const CalibrationCase& asked,
                                     double change, double run_sd) {
  const double level = kTrueLevel * (1 + change) * std::exp(run_sd * Normal(random));
  const std::vector<double> steps = RandomSteps(random, shape, level);
  const std::span<const double> values(steps);
  return EstimateRun(values.subspan(asked.warm_up ? WarmUpSteps(values) : 0), asked.scale);
}

inline Comparison RandomComparison(std::mt19937_64& random, const CalibrationCase& asked, double change) {
  const StepShape shape = ShapeOf(random, asked);
  std::vector<RunEstimate> base;
  std::vector<RunEstimate> fresh;
  const double new_sd = asked.new_run_sd >= 0 ? asked.new_run_sd : asked.run_sd;
  for (size_t i = 0; i < asked.repeats; ++i) {
    base.push_back(RandomRunEstimate(random, shape, asked, 0, asked.run_sd));
    fresh.push_back(RandomRunEstimate(random, shape, asked, change, new_sd));
  }
  std::vector<EarlierRun> earlier;
  for (size_t i = 0; i < asked.earlier_runs; ++i) {
    const RunEstimate run = RandomRunEstimate(random, shape, asked, 0, asked.run_sd);
    earlier.push_back({.level = run.level, .error = run.error});
  }
  return CompareSides(base, fresh, earlier,
                      {.scale = asked.scale, .reference = kTrueLevel, .with_floor = asked.with_floor});
}

inline void CountComparison(const Comparison& comparison, double truth, CalibrationCounts& counts) {
  ++counts.pairs;
  if (comparison.verdict == Verdict::kNotEnoughSteps) {
    ++counts.refused;
    return;
  }
  counts.slower += comparison.verdict == Verdict::kSlower ? 1 : 0;
  counts.faster += comparison.verdict == Verdict::kFaster ? 1 : 0;
  counts.same += comparison.verdict == Verdict::kSame ? 1 : 0;
  counts.unclear += comparison.verdict == Verdict::kUnclear ? 1 : 0;
  counts.held += comparison.interval.low <= truth && truth <= comparison.interval.high ? 1 : 0;
  counts.excludes_zero += comparison.interval.low > 0 || comparison.interval.high < 0 ? 1 : 0;
  counts.half += (comparison.interval.high - comparison.interval.low) / 2;
}

// The truth of the plain scale is a shift: only a change of 0 has one that does not depend on the kind.
inline CalibrationCounts Calibrate(const CalibrationCase& asked, int pairs, uint64_t seed) {
  std::mt19937_64 random(seed);
  CalibrationCounts counts;
  for (int i = 0; i < pairs; ++i) {
    const double change = asked.random_change ? Uniform(random, -0.1, 0.3) : asked.change;
    CountComparison(RandomComparison(random, asked, change), std::log1p(change), counts);
  }
  return counts;
}

}  // namespace lockstep::compare
