// Whether ranks of one planned clock domain really share a clock, by the instances that their ids join. Two machines
// under one host name hold against the name, not against the ids. Internal to the joining of instances.
#pragma once

#include <vector>

#include "analysis/metrics/match/join/instance_builder.h"

namespace lockstep {

// `joined`: by ids alone, of certain all-pairs operations. In each domain the ranks on the clock of its first one, then
// those on the clock of the first of the others, and so on. Two clocks only where the ends keep a distance that no
// device bias explains and no other pairing in order has common points (else the ids are to blame); a pair of which
// neither can be said is left out. Empty if no pair is on two clocks.
[[nodiscard]] std::vector<ClockEvidence> ClocksByIds(const JoinInput& input, const std::vector<JoinedInstance>& joined);

}  // namespace lockstep
