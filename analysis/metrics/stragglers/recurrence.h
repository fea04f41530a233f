// How a lateness comes back: in every step, with a period, in bursts, or without an order. Pure.
#pragma once

#include <optional>
#include <vector>

#include "analysis/metrics/stragglers/stragglers.h"

namespace lockstep {

struct RecurrenceResult {
  Recurrence kind = Recurrence::kRandom;
  std::optional<double> period;  // in units, kPeriodic
};

// `series` by consecutive units, `floor` the lateness that does not count. Persistent: late in at least
// kPersistentShare of the units, or neither periodic nor bursty nor rare.
inline constexpr double kPersistentShare = 0.9;
[[nodiscard]] RecurrenceResult ClassifyRecurrence(const std::vector<double>& series, double floor);

// The lag at which the series comes back to itself beyond what a false alarm of 1 % over all lags explains.
[[nodiscard]] std::optional<double> FindPeriod(const std::vector<double>& series);

// A stretch of units that stands out by at least 3 robust standard deviations and a tenth of its own height, outside of
// which the median is below `floor`, and all that stands out is less than the stretch. [first, last)
struct Burst {
  size_t first = 0;
  size_t last = 0;
};
[[nodiscard]] std::optional<Burst> FindBurst(const std::vector<double>& series, double floor);

}  // namespace lockstep
