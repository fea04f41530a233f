// How long the steps of the job take. A step of the job takes as long as on the rank where it takes longest: every
// other rank waits for that one at the next collective. Steps that not all ranks have are left out; where ranks number
// their steps alone, so that they cannot be compared, every step of every rank counts. The last step of a capture ends
// with its own last activity, since no step follows that would end it. Units: ns. Pure.
#pragma once

#include <optional>

#include "analysis/metrics/fleet/fleet.h"
#include "analysis/stats/sketch.h"

namespace lockstep {

struct StepTime {
  Sketch time;
  bool by_rank = false;  // of every step of every rank: the ranks number them alone
};

// Of the selected steps. std::nullopt where there are none.
[[nodiscard]] std::optional<StepTime> ComputeStepTime(const Fleet& fleet);

}  // namespace lockstep
