// Rows without an id among rows with one: their calls lie before the capture, or their format tells none. Internal to
// the joining of instances.
#pragma once

#include <vector>

#include "analysis/metrics/match/join/id_join.h"

namespace lockstep {

// Adds the rows without an id to `join.instances`: to the instance that their time shows, else to instances of their
// own. A row whose time fits several, or whose clock is not comparable, is ambiguous and stays alone. `rows`: per
// member of the plan, all rows of the join, in order of start.
void AttachByTime(const JoinInput& input, const std::vector<std::vector<RowRef>>& rows, IdJoin& join);

}  // namespace lockstep
