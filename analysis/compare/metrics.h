// The metrics of a comparison: the step time, its parts, and throughput where the context says what a step processes.
// Times more are worse; of throughput less is. Pure, thread safe.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "analysis/compare/sides.h"

namespace lockstep::compare {

inline constexpr std::string_view kStepTime = "step_time";

struct MetricsOfSides {
  std::vector<report::MetricChange> metrics;  // the step time first
  Comparison step_time;
};

// Of time that may be anything (communication that is not resolved, graphs traced as a whole): its change is so large
// that it may hide a real one, and so is another part's change moved into it.
[[nodiscard]] bool HidesMuch(double change_ns, double step_ns);
[[nodiscard]] bool MovedInto(double change_ns, double hidden_ns);

[[nodiscard]] MetricsOfSides CompareMetrics(const Sides& sides);

// Null: there is none of the name. Borrowed.
[[nodiscard]] const report::MetricChange* FindMetric(const std::vector<report::MetricChange>& metrics,
                                                     std::string_view name);

// Names that gates may use, besides patterns.
[[nodiscard]] std::vector<std::string_view> MetricNames();

// The values of a metric that is a time of each step, in ns. An empty function: there is no such metric.
[[nodiscard]] SeriesOfRun SeriesOfMetric(std::string_view name);
[[nodiscard]] std::vector<std::string_view> NamesOfStepMetrics();

// `earlier`: how many other runs of the context there are.
[[nodiscard]] report::Noise NoiseOf(const Comparison& step_time, size_t earlier);

}  // namespace lockstep::compare
