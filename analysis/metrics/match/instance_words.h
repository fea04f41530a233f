// The words of one matched instance: spread, waits, lateness, transfer, who was last and how sure that is.
#pragma once

#include "analysis/metrics/clock_align/clock_model.h"
#include "analysis/metrics/match/join/instance_join.h"

namespace lockstep {

// Moves the members from their sources' clocks onto the aligned axis. Once per instance, before its words are filled.
void AlignMembers(MatchedInstance& instance, const ClockModel& clock);

// Fills everything that rests on the members' times. `all_pairs`: the operation is one, by its kind or by certificate.
// `size`: members of the communicator, -1 = unknown.
void FillWords(JoinedInstance& joined, bool all_pairs, int32_t size, const ClockModel& clock);

// What is told of the row of each member: [rank index][row], which are there. `index`: of the instance among all.
void FillArrivals(const MatchedInstance& instance, size_t index, std::vector<std::vector<ArrivalOfRow>>& arrivals);

}  // namespace lockstep
