// Walks the host's events in order of time and gives each launch call what surrounds it: the step it starts in, the
// collective call it is made for (innermost on its thread, or the grouped calls that an enclosing ncclGroupEnd
// releases), the ranges around it and the phase they tell, and for graph launches their ordinal. One thread.
#pragma once

#include <absl/status/status.h>

#include "agent/pipeline/range_projection.h"
#include "agent/pipeline/record_collector.h"
#include "agent/pipeline/step_cursor.h"
#include "analysis/condense/selection.h"

namespace lockstep {

using LaunchSorter = ExternalSorter<Launch, LaunchOrder>;

struct HostSelection {
  StepThreads named_steps = StepThreads::kOwnIfNamed;  // whose calls steps hold that are named ranges
  // By process, on the file's axis: the calls and ranges to count in the host totals; empty: all are counted already.
  std::vector<CondenseSelection> selected;
};

// Also sums what the host did per step ([process][position in the step table]).
absl::Status SweepHost(RecordCollector& collector, LaunchSorter& launches, RangeProjection& ranges,
                       std::vector<std::vector<HostOfStep>>& per_step, const HostSelection& selection);

}  // namespace lockstep
