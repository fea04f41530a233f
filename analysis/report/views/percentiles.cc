#include "analysis/report/views/percentiles.h"

#include <array>
#include <cstdint>

#include "analysis/report/json.h"
#include "analysis/report/views/json_values.h"

namespace lockstep {
namespace {

struct Level {
  const char* name;
  double q;
};
constexpr std::array<Level, 5> kLevels = {{{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}}};

// How a stored integer is shown.
struct AsInteger {
  Json operator()(int64_t value) const { return value; }
  Json operator()(double value) const { return value; }
};
struct AsScaledReal {
  double scale;
  Json operator()(int64_t value) const { return static_cast<double>(value) * scale; }
  Json operator()(double value) const { return value * scale; }
};

template <typename AnySketch, typename Show>
Json BuildPercentiles(const AnySketch& sketch, const Show& show) {
  Json out = Json::object();
  Json bounds = Json::object();
  for (const Level& level : kLevels) {
    const auto estimate = sketch.empty() ? std::nullopt : sketch.Quantile(level.q);
    out[level.name] = estimate ? show(estimate->value) : Json(nullptr);
    if (estimate && !estimate->exact) bounds[level.name] = Json::array({show(estimate->lower), show(estimate->upper)});
  }
  const bool none = sketch.empty();
  out["max"] = none ? Json(nullptr) : show(sketch.max());
  out["min"] = none ? Json(nullptr) : show(sketch.min());
  out["mean"] = none ? Json(nullptr) : show(sketch.mean());
  out["count"] = sketch.count();
  out["stddev"] = none ? Json(nullptr) : show(sketch.stddev());
  if (!sketch.exact()) out["bounds"] = std::move(bounds);
  return out;
}

template <typename AnySketch>
Json BuildWithMedian(const AnySketch& sketch, PercentileMedian median) {
  Json out = BuildPercentiles(sketch, AsInteger{});
  if (median == PercentileMedian::kInclude) {
    const auto value = sketch.Median();
    out["median"] = value ? Json(*value) : Json(nullptr);
  }
  return out;
}

constexpr double kSystematicTail = 1.5;  // p99 / p50
constexpr double kOutliers = 2;          // max / p50

// Null where the ratios are not known.
Json TailFlags(const Json& p99_over_p50, const Json& max_over_p50) {
  if (max_over_p50.is_null()) return nullptr;
  Json flags = Json::array();
  if (p99_over_p50.is_number() && p99_over_p50.get<double>() > kSystematicTail) flags.push_back("systematic");
  if (max_over_p50.get<double>() > kOutliers) flags.push_back("outliers");
  return flags;
}

}  // namespace

Json Percentiles(const Sketch& sketch, PercentileMedian median) { return BuildWithMedian(sketch, median); }

Json Percentiles(const QuantileSummary& summary, PercentileMedian median) { return BuildWithMedian(summary, median); }

Json ScaledPercentiles(const Sketch& sketch, double scale) { return BuildPercentiles(sketch, AsScaledReal{scale}); }

Json Percentiles(const SignedSketch& sketch) { return BuildPercentiles(sketch, AsInteger{}); }

void AddTailRatios(const Sketch& durations, Json& row) {
  const auto p50 = durations.Quantile(0.5);
  const auto p99 = durations.Quantile(0.99);
  row["p99_over_p50_ratio"] = p50 && p99 ? Ratio(p99->value, p50->value) : Json(nullptr);
  row["max_over_p50_ratio"] = p50 ? Ratio(durations.max(), p50->value) : Json(nullptr);
  row["tail_flags"] = TailFlags(row["p99_over_p50_ratio"], row["max_over_p50_ratio"]);
}

}  // namespace lockstep
