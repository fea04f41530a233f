// What the host of one source did: runtime calls, ranges, and launches up to where their kernels run.
#pragma once

#include <cstdint>

#include "analysis/model/trace_record.h"
#include "analysis/stats/quantile_summary.h"
#include "analysis/stats/sketch.h"

namespace lockstep {

// Runtime and driver calls by name. launch_delay: start of the activity - end of the call (>= 0 only).
struct ApiRow {
  uint32_t name = 0;
  ApiKind kind = ApiKind::kOther;
  Sketch duration;
  Sketch launch_delay;
  friend bool operator==(const ApiRow&, const ApiRow&) = default;
};

// NVTX ranges and annotations by name.
struct RangeRow {
  uint32_t name = 0;
  uint32_t domain = kNoId;
  HostKind style = HostKind::kRange;
  Sketch duration;
  // Of the ranges inside which device work was launched (on their thread): first start to last end of that work.
  Sketch projected;
  friend bool operator==(const RangeRow&, const RangeRow&) = default;
};

// Launch -> queue -> run by (API name, kernel name, launching thread). A source has one row of each: nothing is merged
// with it, and what the report says of it is all that travels.
struct LaunchRow {
  uint32_t api = 0;
  uint32_t kernel = 0;
  int64_t tid = -1;  // -1: not known
  int64_t queue_count = 0;
  QuantileSummary total;
  QuantileSummary api_time;
  QuantileSummary queue;
  QuantileSummary kernel_time;
  friend bool operator==(const LaunchRow&, const LaunchRow&) = default;
};

}  // namespace lockstep
