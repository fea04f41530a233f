// Device bias inside a clock domain, and how well the devices of one domain can be compared: measured from the ends of
// their matched collectives.
//
// For devices a, b with d = end_a - end_b over shared all-pairs or two-member instances: the last-arriver-balanced
// centre c = (median(d | a later) + median(d | b later)) / 2, from the classes of instances whose ends scatter least.
// With at least 20 instances on each side it measures bias_a - bias_b; a weighted least squares joins the pairs of a
// domain, piecewise where the ends jump. U of a pair holds the scatter of single records too.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/clock_align/clock_align.h"

namespace lockstep {

struct DeviceClocks {
  std::vector<std::vector<BiasPiece>> bias;  // per rank index; empty = 0
  std::vector<double> bias_sd_ns;            // per rank index: standard error, or how large an unmeasured bias may be
  std::vector<bool> apart;                   // per rank index: not measured, while others of its domain are
  std::vector<double> jitter_ns;             // per rank index: upper bound of the sd of a single record, 0 = not known

  [[nodiscard]] int64_t BiasOf(int32_t rank_index, int64_t local_ns) const;
};

// Sets bias and pair uncertainty in the model, whose domains must have been set.
[[nodiscard]] DeviceClocks MeasureInDomain(const ClockInput& input, Executor& executor, ClockModel& model);

}  // namespace lockstep
