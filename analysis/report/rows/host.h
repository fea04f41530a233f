// Rows of the views host, launches and nvtx.
#pragma once

#include <optional>
#include <string>

#include "analysis/report/fields/record.h"
#include "analysis/report/rows/percentiles.h"

namespace lockstep::report {

struct HostRow : TailRatios {
  std::string api;
  Count ranks;
  Count calls;
  Count total_ns;
  Percentiles duration_ns;
  Percentiles launch_delay_ns;
  Percentiles queue_ns;

  static const Record& Fields();
};

struct LaunchRow {
  std::string api;
  std::string kernel;
  int32_t rank = 0;
  std::optional<Count> pid;
  std::optional<Count> tid;
  std::optional<Count> device;
  Count count;
  Count queue_count;
  Percentiles total_ns;
  Percentiles api_ns;
  Percentiles queue_ns;
  Percentiles kernel_ns;

  static const Record& Fields();
};

struct RangeRow {
  std::string range;
  std::optional<std::string> domain;
  std::string style;
  std::optional<int32_t> rank;
  Count instances;
  Count total_ns;
  Percentiles duration_ns;
  Percentiles projected_ns;

  static const Record& Fields();
};

}  // namespace lockstep::report
