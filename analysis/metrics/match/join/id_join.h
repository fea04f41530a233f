// Joining the collectives of a communicator by the ids their rows carry. Internal to the joining of instances.
#pragma once

#include <optional>
#include <vector>

#include "analysis/metrics/match/join/instance_builder.h"

namespace lockstep {

// `rows`: the rows to join (no point-to-point ones). Null when the rows carry no id that serves, or when the joined
// instances fail a check.
[[nodiscard]] std::optional<std::vector<JoinedInstance>> JoinById(const JoinInput& input,
                                                                  const std::vector<RowRef>& rows);

}  // namespace lockstep
