// Percentiles of a distribution, and how far its tail reaches, as the report has them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/fields/record.h"

namespace lockstep::report {

struct PercentileBounds {
  using Bounds = std::optional<std::pair<Figure, Figure>>;
  Bounds p50;
  Bounds p90;
  Bounds p95;
  Bounds p99;
  Bounds p999;

  static const Record& Fields();
};

// Whole numbers, or reals, in the unit of the field that holds them.
struct Percentiles {
  using Value = std::optional<Figure>;
  Value p50;
  Value p90;
  Value p95;
  Value p99;
  Value p999;
  Value max;
  Value min;
  Value mean;
  Count count;
  Value stddev;
  std::optional<PercentileBounds> bounds;
  std::optional<Value> median;

  static const Record& Fields();
};

// How far a tail reaches; part of several rows.
struct TailRatios {
  std::optional<double> p99_over_p50_ratio;
  std::optional<double> max_over_p50_ratio;
  std::optional<std::vector<std::string>> tail_flags;
};

}  // namespace lockstep::report
