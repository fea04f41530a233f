// Walks the host's events in order of time and gives each launch call what surrounds it: the step it starts in, the
// collective call it is made for (innermost on its thread, or the grouped calls that an enclosing ncclGroupEnd
// releases), the ranges around it and the phase they tell, and for graph launches their ordinal. One thread.
#pragma once

#include <absl/status/status.h>

#include "agent/pipeline/range_projection.h"
#include "agent/pipeline/record_collector.h"

namespace lockstep {

using LaunchSorter = ExternalSorter<Launch, LaunchOrder>;

// Also sums what the host did per step ([process][position in the step table]).
absl::Status SweepHost(RecordCollector& collector, LaunchSorter& launches, RangeProjection& ranges,
                       std::vector<std::vector<HostOfStep>>& per_step);

}  // namespace lockstep
