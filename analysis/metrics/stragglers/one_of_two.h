// A rank that is compared with one other rank alone. Pure.
#pragma once

#include "analysis/metrics/stragglers/candidates.h"

namespace lockstep {

// Of two ranks, one is as early as the other one is late. That the other one stalls in some units does not make up
// for this one's own stalls in others: as early as noise makes it is as early as it counts.
void LeaveOutTheOther(Candidate& candidate);

}  // namespace lockstep
