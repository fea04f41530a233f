// memory[] and allocation[]: copies and memsets by kind, and the level of device memory over time.
#pragma once

#include "analysis/report/views/view_input.h"

namespace lockstep {

[[nodiscard]] Json MemoryView(const ViewInput& input);
// Part of the memory view, under a key of its own.
[[nodiscard]] Json AllocationView(const ViewInput& input);

}  // namespace lockstep
