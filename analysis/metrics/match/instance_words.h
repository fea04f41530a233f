// The words of one matched instance: spread, waits, lateness, transfer, who was last and how sure that is.
#pragma once

#include "analysis/metrics/clock_align/clock_model.h"
#include "analysis/metrics/match/join/instance_join.h"

namespace lockstep {

// Moves the members from their sources' clocks onto the aligned axis. Once per instance, before its words are filled.
void AlignMembers(MatchedInstance& instance, const ClockModel& clock);

// Fills whether all members are there, and on one clock. `size`: members of the communicator, -1 = unknown. `may_lack`:
// it may have members besides those that are known.
void FillMembership(JoinedInstance& joined, int32_t size, bool may_lack, const ClockModel& clock);

// Fills everything that rests on the members' times, once the membership is filled. `all_pairs`: the operation is one,
// by its kind or by certificate.
void FillWords(JoinedInstance& joined, bool all_pairs, const ClockModel& clock);

// What is told of the row of each member: [rank index][row], which are there. `index`: of the instance among all.
void FillArrivals(const MatchedInstance& instance, size_t index, std::vector<std::vector<ArrivalOfRow>>& arrivals);

}  // namespace lockstep
