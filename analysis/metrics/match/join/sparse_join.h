// Uneven exchanges that time alone tears apart: a member that got nothing from the last one ends before that one
// starts. Internal to the joining of instances.
#pragma once

#include <vector>

#include "analysis/metrics/match/join/timed_join.h"

namespace lockstep {

// Joins by order what lies between two instances of all members, or beyond the first or the last of them, where every
// member has equally many rows there, all of uneven exchanges, half of the n-th rows or more are joined and the
// others run beside these.
void JoinSparse(const JoinInput& input, const std::vector<TimedSlot>& slots, std::vector<TimedCluster>& clusters);

}  // namespace lockstep
