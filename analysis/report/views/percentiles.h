// Percentiles of the report from the sketches behind them. Pure and thread safe.
#pragma once

#include "analysis/report/rows/percentiles.h"
#include "analysis/stats/quantile_summary.h"
#include "analysis/stats/signed_sketch.h"
#include "analysis/stats/sketch.h"

namespace lockstep {

enum class PercentileMedian : uint8_t { kOmit = 0, kInclude = 1 };

// Whole numbers, as stored. kInclude adds `median`.
[[nodiscard]] report::Percentiles PercentilesOf(const Sketch& sketch,
                                                PercentileMedian median = PercentileMedian::kOmit);
[[nodiscard]] report::Percentiles PercentilesOf(const QuantileSummary& summary,
                                                PercentileMedian median = PercentileMedian::kOmit);
[[nodiscard]] report::Percentiles PercentilesOf(const SignedSketch& sketch);

// Reals: every value times `scale` (1e-9 turns bytes per second into decimal gigabytes per second).
[[nodiscard]] report::Percentiles ScaledPercentiles(const Sketch& sketch, double scale);

[[nodiscard]] report::TailRatios TailRatiosOf(const Sketch& durations);

// The value of one percentile.
[[nodiscard]] std::optional<int64_t> QuantileOf(const Sketch& sketch, double q);

}  // namespace lockstep
