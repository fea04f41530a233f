// Clocks that contradict themselves: devices whose records lie farther off the clock that was found for them than what
// collectives do can explain.
#pragma once

#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/clock_align/clock_align.h"

namespace lockstep {

// Per rank index: standard deviation (ns) of a single record about the model's clock of its device, from the class of
// instances that shows it best; 0 where the ends scatter as those of collectives do. A device stands out whose ends
// scatter more than three times the usual of their class, or by more than a good part of the duration: no end comes
// before the last start. Looks at four ends of five, so that a few wrong records do not matter.
[[nodiscard]] std::vector<double> ExcessScatter(const ClockInput& input, const ClockModel& model, Executor& executor);

}  // namespace lockstep
