// Why a device stood idle before an activity (definitions: "Idle").
#pragma once

#include <cstdint>

#include "analysis/model/step_row.h"

namespace lockstep {

enum class GapRest : uint8_t { kNone, kLaunch, kDependency, kOther };

// A gap [begin, end): [begin, host_end) the host had not finished asking, [host_end, end) the rest.
struct Gap {
  int64_t begin_ns = 0;
  int64_t host_end_ns = 0;
  int64_t end_ns = 0;
  GapRest rest = GapRest::kOther;
};

// launch_end_ns = kNoTime: no launch row, the whole gap is "other". waited: a recorded event wait or synchronisation
// precedes the activity on its stream.
[[nodiscard]] Gap ClassifyGap(int64_t begin_ns, int64_t end_ns, int64_t launch_end_ns, bool waited);

// Adds the part of the gap inside [from, to) to the measure (span and idle).
void AddGap(IntervalMeasure& measure, const Gap& gap, int64_t from_ns, int64_t to_ns);

}  // namespace lockstep
