// Joining the collectives of a communicator on comparable clocks, whatever rows were lost. Internal to the joining of
// instances.
#pragma once

#include <optional>
#include <vector>

#include "analysis/metrics/match/join/instance_builder.h"

namespace lockstep {

// `rows`: per member of the plan, the rows to join (no point-to-point ones), in order of start. Null when too few ranks
// are comparable, or when the times do not show that the rows belong together.
[[nodiscard]] std::optional<CommunicatorJoin> JoinOnClock(const JoinInput& input,
                                                          const std::vector<std::vector<RowRef>>& rows);

}  // namespace lockstep
