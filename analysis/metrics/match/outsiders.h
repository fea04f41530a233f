// Groups that may have members besides those that are known. Internal to the matching.
#pragma once

#include <vector>

#include "analysis/metrics/clock_align/clock_model.h"
#include "analysis/metrics/match/collective_rows.h"
#include "analysis/metrics/match/communicators.h"
#include "analysis/metrics/match/join/instance_join.h"
#include "analysis/metrics/run/ranks.h"

namespace lockstep {

// Per plan: whether a rank that is not among its members may be one, so that they may have waited for it.
//
// That is so where ranks have no trace (MayLackMembers), and for a group whose members were inferred where another rank
// runs the same operations and is in no group, or in one on clocks that nothing connects with the members': then both
// may be parts of one group. They are not where the operations of both take equally long after the last arrival:
// whoever waits for a member elsewhere shows it there.
//
// `joins`: per plan, times as recorded, which `clock` aligns. O(plans^2 + rows log rows).
[[nodiscard]] std::vector<bool> MayHaveOutsiders(const std::vector<CommunicatorPlan>& plans,
                                                 const std::vector<CommunicatorJoin>& joins,
                                                 const std::vector<RankRows>& rows, const RankResolution& ranks,
                                                 const ClockModel& clock);

}  // namespace lockstep
