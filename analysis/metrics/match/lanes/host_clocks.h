// Whether the ranks that bear one host name share a clock, by the ends of their lanes in the communicators that the
// traces tell. Two machines of one name would else be joined as if on one clock, and any offset between them taken for
// lost records. Internal to the matching.
#pragma once

#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/match/collective_rows.h"
#include "analysis/metrics/match/communicators.h"
#include "analysis/metrics/run/host_domains.h"

namespace lockstep {

// Of the domains in which some pair of ranks is on two clocks: what is known of their pairs; nothing of all others.
// Two clocks: on one the ends do not meet, and moved against each other by more than devices differ they do, in a way
// that settles the offset (lane_shift.h).
[[nodiscard]] std::vector<ClockEvidence> ClocksOfHosts(const std::vector<CommunicatorPlan>& plans,
                                                       const DomainPlan& domains, const std::vector<RankRows>& rows,
                                                       Executor& executor);

}  // namespace lockstep
