// Joining the collectives of a communicator by the ids their rows carry. Internal to the joining of instances.
#pragma once

#include <optional>
#include <vector>

#include "analysis/metrics/match/join/instance_builder.h"

namespace lockstep {

struct IdJoin {
  std::vector<JoinedInstance> instances;  // of every row with an id
  std::vector<RowRef> without;            // rows without one
};

// `rows`: the rows to join (no point-to-point ones). Null when fewer than half of them carry an id, when no kind of id
// serves, or when the joined instances fail a check. Where the only fault is that ranks of one planned domain are on
// different clocks, that is told in `clocks` (id_clocks.h): once the domain is split, the ids serve.
[[nodiscard]] std::optional<IdJoin> JoinById(const JoinInput& input, const std::vector<RowRef>& rows,
                                             std::vector<ClockEvidence>& clocks);

}  // namespace lockstep
