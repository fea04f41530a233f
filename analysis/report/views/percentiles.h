// The `pct` object of the report: {p50,p90,p95,p99,p999,max,min,mean,count,stddev[,median][,bounds]}.
//
// A percentile is null below 1/(1-Q) values; an empty sketch has null everywhere but in `count`. `bounds` (the certain
// interval [l,u] of each percentile) stands only beside histograms, whose percentiles are not exact.
#pragma once

#include "analysis/report/report.h"
#include "analysis/stats/quantile_summary.h"
#include "analysis/stats/signed_sketch.h"
#include "analysis/stats/sketch.h"

namespace lockstep {

enum class PercentileMedian : uint8_t { kOmit = 0, kInclude = 1 };

// Integer units, as stored. kInclude adds `median`: nsys's, null if the sketch is not exact.
[[nodiscard]] Json Percentiles(const Sketch& sketch, PercentileMedian median = PercentileMedian::kOmit);

[[nodiscard]] Json Percentiles(const QuantileSummary& summary, PercentileMedian median = PercentileMedian::kOmit);

// Reals: every value times `scale` (1e-9 turns bytes per second into decimal gigabytes per second).
[[nodiscard]] Json ScaledPercentiles(const Sketch& sketch, double scale);

[[nodiscard]] Json Percentiles(const SignedSketch& sketch);

// How far the tail reaches: p99_over_p50_ratio, max_over_p50_ratio, tail_flags ("systematic": p99 / p50 > 1.5,
// "outliers": max / p50 > 2); null without a p50 above zero.
void AddTailRatios(const Sketch& durations, Json& row);

}  // namespace lockstep
