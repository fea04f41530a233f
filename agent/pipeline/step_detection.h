// Steps of processes whose trace marks none, found by the rhythm of what their main device runs (rhythm.h).
//
// Call after RecordCollector::Finish and before the host sweep. A step begins with the launch of its anchor, or, where
// launches are not in the trace, with the anchor itself. What comes before the first anchor, and after the last whole
// step, belongs to no step. Memory is bounded: the rhythm is looked for in the first kMaxUnits launches. One thread.
#pragma once

#include <absl/status/status.h>

#include "agent/pipeline/record_collector.h"

namespace lockstep {

absl::Status DetectSteps(RecordCollector& collector);

}  // namespace lockstep
