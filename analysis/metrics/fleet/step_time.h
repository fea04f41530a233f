// How long the steps of the job take (job_steps.h). Steps that not all ranks have are left out; where ranks number
// their steps alone, so that they cannot be compared, every step of every rank counts. Units: ns. Pure.
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
