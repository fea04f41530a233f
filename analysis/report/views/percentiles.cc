#include "analysis/report/views/percentiles.h"

#include <array>
#include <cstdint>
#include <utility>

#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

using report::Figure;
using report::PercentileBounds;
using report::Percentiles;

struct Level {
  double q;
  Percentiles::Value Percentiles::*value;
  PercentileBounds::Bounds PercentileBounds::*bounds;
};
constexpr std::array<Level, 5> kLevels = {{{0.5, &Percentiles::p50, &PercentileBounds::p50},
                                           {0.9, &Percentiles::p90, &PercentileBounds::p90},
                                           {0.95, &Percentiles::p95, &PercentileBounds::p95},
                                           {0.99, &Percentiles::p99, &PercentileBounds::p99},
                                           {0.999, &Percentiles::p999, &PercentileBounds::p999}}};

// How a stored number is shown.
struct AsStored {
  Figure operator()(int64_t value) const { return value; }
  Figure operator()(double value) const { return value; }
};
struct Scaled {
  double scale;
  Figure operator()(int64_t value) const { return static_cast<double>(value) * scale; }
  Figure operator()(double value) const { return value * scale; }
};

template <typename AnySketch, typename Show>
Percentiles Build(const AnySketch& sketch, const Show& show) {
  Percentiles out;
  PercentileBounds bounds;
  out.count = sketch.count();
  if (sketch.empty()) return out;
  for (const Level& level : kLevels) {
    const auto estimate = sketch.Quantile(level.q);
    if (!estimate) continue;
    out.*level.value = show(estimate->value);
    if (!estimate->exact) bounds.*level.bounds = std::pair(show(estimate->lower), show(estimate->upper));
  }
  out.max = show(sketch.max());
  out.min = show(sketch.min());
  out.mean = show(sketch.mean());
  out.stddev = show(sketch.stddev());
  if (!sketch.exact()) out.bounds = bounds;
  return out;
}

template <typename AnySketch>
Percentiles BuildWithMedian(const AnySketch& sketch, PercentileMedian median) {
  Percentiles out = Build(sketch, AsStored{});
  if (median == PercentileMedian::kInclude) {
    const std::optional<double> value = sketch.Median();
    out.median.emplace(value ? Percentiles::Value(*value) : std::nullopt);
  }
  return out;
}

constexpr double kSystematicTail = 1.5;  // p99 / p50
constexpr double kOutliers = 2;          // max / p50

}  // namespace

Percentiles PercentilesOf(const Sketch& sketch, PercentileMedian median) { return BuildWithMedian(sketch, median); }

Percentiles PercentilesOf(const QuantileSummary& summary, PercentileMedian median) {
  return BuildWithMedian(summary, median);
}

Percentiles PercentilesOf(const SignedSketch& sketch) { return Build(sketch, AsStored{}); }

Percentiles ScaledPercentiles(const Sketch& sketch, double scale) { return Build(sketch, Scaled{scale}); }

report::TailRatios TailRatiosOf(const Sketch& durations) {
  report::TailRatios out;
  const std::optional<int64_t> p50 = QuantileOf(durations, 0.5);
  const std::optional<int64_t> p99 = QuantileOf(durations, 0.99);
  if (p50 && p99) out.p99_over_p50_ratio = ShareOf(*p99, *p50);
  if (p50) out.max_over_p50_ratio = ShareOf(durations.max(), *p50);
  if (!out.max_over_p50_ratio) return out;
  out.tail_flags.emplace();
  if (out.p99_over_p50_ratio.value_or(0) > kSystematicTail) out.tail_flags->emplace_back("systematic");
  if (*out.max_over_p50_ratio > kOutliers) out.tail_flags->emplace_back("outliers");
  return out;
}

std::optional<int64_t> QuantileOf(const Sketch& sketch, double q) {
  const auto estimate = sketch.Quantile(q);
  return estimate ? std::optional(estimate->value) : std::nullopt;
}

}  // namespace lockstep
