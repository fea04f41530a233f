// Kernel time of both sides in groups that exist in every program, so that runs of different frameworks compare: by
// family, and by the part of a model (kernels/layer_role.h). The time of communication kernels includes their waiting.
// Rows are in order of the size of the change. Pure, thread safe.
#pragma once

#include <vector>

#include "analysis/compare/sides.h"

namespace lockstep::compare {

[[nodiscard]] std::vector<report::FamilyChange> FamilyChangesOf(const Sides& sides);

// Per token as well, where the context of every run of a side has tokens_per_step.
[[nodiscard]] std::vector<report::RoleChange> RoleChangesOf(const Sides& sides);

}  // namespace lockstep::compare
