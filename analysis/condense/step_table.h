// The steps of one process by host range, in order of start.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "analysis/model/trace_record.h"

namespace lockstep {

struct StepRange {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t number = 0;  // the trace's own, or the ordinal
  int64_t tid = 0;
  NameId name = kNoId;
  bool resumes = false;  // the profiler was started again for it: what lies before was not recorded
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

// Position of the step whose range contains t, else -1, of steps that do not overlap (those that do: StepCursor). A
// launch belongs to the step that contains the *start* of the launch call.
[[nodiscard]] inline int32_t StepAt(const std::vector<StepRange>& steps, int64_t t) {
  const auto after = std::upper_bound(steps.begin(), steps.end(), t,
                                      [](int64_t value, const StepRange& step) { return value < step.start_ns; });
  if (after == steps.begin() || t >= std::prev(after)->end_ns) return -1;
  return static_cast<int32_t>(after - steps.begin()) - 1;
}

}  // namespace lockstep
