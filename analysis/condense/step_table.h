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
