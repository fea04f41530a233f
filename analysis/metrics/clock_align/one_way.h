// Clocks of two domains from instances that bind them in one direction each: sends and receives of a pipeline,
// broadcasts, reductions.
//
// A receiver cannot end before its sender has started. Where the sender was the later of the two, the receiver's end
// less the sender's start is the transfer time plus the clocks' difference; both directions together give both.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/clock_align/domain_events.h"
#include "analysis/metrics/clock_align/knots.h"

namespace lockstep {

struct PairClock {
  int32_t a = 0;
  int32_t b = 0;
  std::vector<double> value;  // of a against b at the knots
  std::vector<double> variance;
  bool two_sided = false;  // otherwise ends are taken to coincide
};

// By (a, b).
[[nodiscard]] std::vector<PairClock> MeasurePairs(const DomainEvents& events, int32_t component, const Knots& knots,
                                                  Executor& executor);

}  // namespace lockstep
