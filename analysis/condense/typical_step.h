// The step whose launches stand for those of all steps. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/condense/selection.h"

namespace lockstep {

// Position of the first step that launched as many activities as the median one, the lower of two. Of the steps that
// launched any and are selected, the first one does not count if there are two, nor the last one if there are three: a
// capture warms up, and it may end within a step. `activities`: how many each step launched. Nothing where no step
// launched any, or where times are selected, which cut steps.
[[nodiscard]] std::optional<int32_t> TypicalStep(const std::vector<uint32_t>& activities,
                                                 const CondenseSelection& selection);

}  // namespace lockstep
