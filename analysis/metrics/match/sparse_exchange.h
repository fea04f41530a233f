// Uneven exchanges (all-to-allv, send/recv of all members) in which a rank may have had nothing to send to another one:
// that one may end before the rank has even started. Pure.
#pragma once

#include "analysis/metrics/clock_align/clock_model.h"
#include "analysis/metrics/match/join/instance_join.h"

namespace lockstep {

// Each member ends with its own volume: what depends on whom holds, but ends are not comparable.
[[nodiscard]] bool EndsByVolume(const JoinedInstance& joined);

// Whether an instance (times as recorded) lacks a point common to all members because it is a sparse exchange: a few,
// and fewer than half, of the others ended before the last one started, but each ran beside another one. Damaged times
// and wrong joins leave nearly all of them without, or one alone. Members are compared as far as their clocks are.
[[nodiscard]] bool IsSparseExchange(const JoinedInstance& joined, const ClockModel& clock);

// The same of an instance whose members are aligned (AlignMembers), beyond the uncertainty of their clocks: at least
// one ended before the last one started.
[[nodiscard]] bool ShowsSparseExchange(const JoinedInstance& aligned, const ClockModel& clock);

}  // namespace lockstep
