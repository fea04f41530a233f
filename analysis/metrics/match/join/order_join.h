// Joining the instances of a communicator by their order. Internal to the joining of instances.
#pragma once

#include <vector>

#include "analysis/metrics/match/join/instance_builder.h"

namespace lockstep {

// `rows`: per member of the plan, the rows to join (no point-to-point ones), in order of start.
[[nodiscard]] CommunicatorJoin JoinByOrder(const JoinInput& input, const std::vector<std::vector<RowRef>>& rows);

// Sends and receives, per (sender, receiver).
[[nodiscard]] CommunicatorJoin JoinPointToPoint(const JoinInput& input, const std::vector<RowRef>& rows);

}  // namespace lockstep
