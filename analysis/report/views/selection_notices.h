// What a person must know of a selection: what of it is empty, where it does not reach, what it could not tell.
#pragma once

#include "analysis/report/views/view_input.h"

namespace lockstep {

// `asked`: the views that are shown.
void NotifyOfSelection(const ViewInput& input, const std::vector<std::string>& asked);

// Steps, times or ranks are restricted, and what rests on all that the ranks did together (stragglers, their blame,
// what mending them saves, the clocks, replays) is of more than was asked for.
[[nodiscard]] bool JudgedOnMore(const Fleet& fleet);

// For the views that tell of stragglers: the restrictions do not reach them.
void NotifyOfStragglersOfAll(const ViewInput& input, std::string_view view);

// Under --nvtx; for the views that measure idle time.
void NotifyOfIdleInRanges(const ViewInput& input, std::string_view view);

}  // namespace lockstep
