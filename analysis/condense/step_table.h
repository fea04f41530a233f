// The steps of one process by host range, in order of start.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analysis/model/trace_record.h"

namespace lockstep {

struct StepRange {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t number = 0;  // the trace's own, or the ordinal
  int64_t tid = 0;
  NameId name = kNoId;
};

// What the host did during one step: calls by their start. See StepRow.
struct HostOfStep {
  int64_t launches = 0;
  int64_t launch_ns = 0;
  int64_t graph_launches = 0;
  int64_t sync_calls = 0;
  int64_t sync_ns = 0;
  int64_t alloc_calls = 0;
  int64_t alloc_ns = 0;
  int64_t alloc_max_ns = 0;
  friend bool operator==(const HostOfStep&, const HostOfStep&) = default;
};

inline void CountCall(ApiKind kind, int64_t duration_ns, HostOfStep& step) {
  switch (kind) {
    case ApiKind::kGraphLaunch:
      ++step.graph_launches;
      [[fallthrough]];
    case ApiKind::kLaunch:
      ++step.launches;
      step.launch_ns += duration_ns;
      return;
    case ApiKind::kSync:
      ++step.sync_calls;
      step.sync_ns += duration_ns;
      return;
    case ApiKind::kAlloc:
      ++step.alloc_calls;
      step.alloc_ns += duration_ns;
      step.alloc_max_ns = std::max(step.alloc_max_ns, duration_ns);
      return;
    default:
      return;
  }
}

// Position of the step whose range contains t (the latest started one when ranges overlap), else -1. A launch belongs
// to the step that contains the *start* of the launch call.
[[nodiscard]] inline int32_t StepAt(const std::vector<StepRange>& steps, int64_t t) {
  auto after = std::upper_bound(steps.begin(), steps.end(), t,
                                [](int64_t value, const StepRange& step) { return value < step.start_ns; });
  // Ranges that overlap do so by little: a handful of steps back is enough to find an enclosing one.
  for (int back = 0; back < 8 && after != steps.begin(); ++back) {
    --after;
    if (t < after->end_ns) return static_cast<int32_t>(after - steps.begin());
  }
  return -1;
}

}  // namespace lockstep
