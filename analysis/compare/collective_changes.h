// Collectives of both sides by operation, type, size and kind of group, and who makes the others wait. Pure, thread
// safe.
#pragma once

#include <vector>

#include "analysis/compare/sides.h"

namespace lockstep::compare {

// Collectives of one operation, type, size, number of members and description are the same on both sides. By the change
// of transfer and waiting time a step, largest first.
[[nodiscard]] std::vector<report::CollectiveChange> CollectiveChangesOf(const Sides& sides);

// By the larger share of waiting of both sides.
[[nodiscard]] std::vector<report::LateChange> LateChangesOf(const Sides& sides);

}  // namespace lockstep::compare
