// Both sides of a comparison, and one metric of them, step by step. Pure, thread safe.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "analysis/compare/compared_run.h"
#include "analysis/compare/rows/comparison.h"
#include "analysis/compare/statistics/compare_sides.h"

namespace lockstep::compare {

struct Sides {
  std::vector<ComparedRun> base;
  std::vector<ComparedRun> fresh;
  // Other runs of the base side's context: they show how much runs of the same code differ, where no repeats do.
  std::vector<ComparedRun> earlier = {};
};

// Calls `what` with every run of both sides, the base side first.
void ForEachRun(const Sides& sides, const std::function<void(const ComparedRun&)>& what);

// Values of one run, one a compared step; empty where they are not known.
using SeriesOfRun = std::function<std::vector<double>(const ComparedRun&)>;

// One value a step, made of the step alone.
using ValueOfStep = std::function<double(const ComparedRun&, const report::ProfileStep&)>;
[[nodiscard]] SeriesOfRun SeriesOf(ValueOfStep value);

// A part or a sum of them on the mean rank.
[[nodiscard]] double MeanRank(const ComparedRun& run, report::Count total);

// The job's step time, and its mean; 0 without steps.
[[nodiscard]] std::vector<double> StepTimes(const ComparedRun& run);
[[nodiscard]] double MeanStepTime(const ComparedRun& run);
// 0 without values.
[[nodiscard]] double MeanOf(const std::vector<double>& values);

struct SeriesComparison {
  Comparison change;
  double base_mean = 0;  // plain means of the values; over the runs of a side the mean of those
  double fresh_mean = 0;
  bool known = false;  // both sides have values
};

// What the noise between runs is a share of, where it is only assumed: clocks and temperatures make work slower in
// proportion, while waiting and idle time vary with the whole step.
enum class NoiseShare : uint8_t { kOfItself, kOfStep };

// The step time, on the logarithmic scale.
[[nodiscard]] SeriesComparison CompareTimes(const Sides& sides, const SeriesOfRun& series);
// A part of the step, in ns. `step_ns`: the longer mean step of both sides.
[[nodiscard]] SeriesComparison CompareParts(const Sides& sides, const SeriesOfRun& series, NoiseShare noise,
                                            double step_ns);
// The same of a part that is called otherwise on the new side.
[[nodiscard]] SeriesComparison CompareParts(const Sides& sides, const SeriesOfRun& of_base, const SeriesOfRun& of_fresh,
                                            NoiseShare noise, double step_ns);

// What one run adds to the mean over the runs of its side.
[[nodiscard]] inline double PerRun(double value, const std::vector<ComparedRun>& runs) {
  return value / static_cast<double>(runs.size());
}

[[nodiscard]] std::string_view WordOf(Verdict verdict);  // comparison.h: kSlowerWord, ...

// The same, of the mean of a function over the runs of a side.
[[nodiscard]] double MeanOver(const std::vector<ComparedRun>& runs,
                              const std::function<double(const ComparedRun&)>& value);

}  // namespace lockstep::compare
