// Instances that are joined but belong to no communicator of the ranks: where a stream carries the kernels of several
// communicators and names are all there is, rows of ranks that only run in lockstep end near each other too. They
// scatter more, and they come in a rhythm and of a length of their own. Internal to the joining of instances.
#pragma once

#include "analysis/metrics/match/join/instance_join.h"

namespace lockstep {

// Declares ambiguous, in a communicator whose members nobody told: instances of a common kind (length and rhythm within
// a factor of two) that ends 2.5 times as far apart as the closest one lets expect, or more where it is seen seldom;
// and where there is such a kind, those of kinds too rare to tell, of mixed kinds, and far ones of any kind. Spreads
// are expected to grow with the length; those of a shorter kind not to be less than the jitter of a longer one, where
// its length is common.
void MarkForeign(const JoinInput& input, CommunicatorJoin& join);

}  // namespace lockstep
