// The roots of broadcasts, scatters, reduces and gathers that no trace tells, from who ended before whom.
//
// Of a broadcast: who starts last, later after the second last one than the operation takes, and before whom nobody
// ended all the same, is the one the others waited for; who starts after another one has ended is not. Of a reduce: the
// root is the only member that never ends before the last one has started. A class of instances (operation, bytes) has
// one root if all that tell agree; where they do not, each that tells has its own. METRICS.md "Arrivals". Pure.
#pragma once

#include <vector>

#include "analysis/metrics/clock_align/clock_model.h"
#include "analysis/metrics/match/join/instance_join.h"

namespace lockstep {

// `joined`: the instances of one communicator, aligned, with `comparable` filled. Sets JoinedInstance::root where it is
// kNoRoot and can be told.
void InferRoots(const ClockModel& clock, std::vector<JoinedInstance>& joined);

}  // namespace lockstep
