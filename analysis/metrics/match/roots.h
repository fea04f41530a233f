// The roots of broadcasts, scatters, reduces and gathers that no trace tells, from who ended before whom.
//
// Of a broadcast: who starts last, later after the second last one than the operation takes, and before whom nobody
// ended all the same, is the one the others waited for; who starts after another one has ended is not. Of a reduce: the
// root is the only member that does not end before the last one has started although it would have been done. How long
// the operation takes is the longest that a last starter of its class (operation, bytes) needed, or, if none shows it,
// what bounds it (operation_time.h). Who started before the last one and took clearly longer than that waited: if all
// others did, the last one is the root of a broadcast, and the one that did is the root of a reduce.
//
// An instance tells its root only if its class does so for that rank several times and never tells the contrary, and
// only where all members have a record. What is told of one instance says nothing of another one.
//
// Whoever takes longer than the operation does, has waited, whether or not the root is known: large messages pass from
// member to member, and one that is late holds up those behind it, and those before it once the buffers are full.
// docs/algorithms/collectives.md. Pure.
#pragma once

#include <vector>

#include "analysis/metrics/clock_align/clock_model.h"
#include "analysis/metrics/match/join/instance_join.h"

namespace lockstep {

// `joined`: instances of one communicator, aligned, with `comparable` and `lacking` filled. Sets JoinedInstance::root
// where it is kNoRoot and can be told, and JoinedInstance::takes_at_most_ns of all rooted operations of a class of
// eight instances.
void InferRoots(const ClockModel& clock, std::vector<JoinedInstance>& joined);

}  // namespace lockstep
