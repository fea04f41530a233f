// How long a collective takes at least, from its instances in which every member has a record: the shortest that any
// member was in one. Where a member has no record, the others can have waited for it until that long before their end,
// and not longer. Pure. Units: ns.
#pragma once

#include <vector>

#include "analysis/metrics/match/join/instance_join.h"

namespace lockstep {

// `joined`: instances of one communicator with `complete`, `lacking` and `shortest_duration_ns` filled. Sets
// JoinedInstance::takes_at_least_ns of the lacking ones whose class (operation, bytes) has eight complete instances.
// Of classes of unknown size it is that of the smallest message.
void FindLeastDurations(std::vector<JoinedInstance>& joined);

}  // namespace lockstep
