// How well the devices of one clock domain can be compared: measured from the ends of their matched collectives.
//
// For ranks a, b with d = end_a - end_b over their matched all-pairs or two-member instances:
// U = max(2 ticks, 95th percentile of |d|); the default of ClockModel below 3 instances. The tick is 1 us for a pair
// one of whose sources has all its times in whole microseconds, else 32 ns.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/clock_model.h"
#include "analysis/metrics/collective_rows.h"
#include "analysis/metrics/match.h"

namespace lockstep {

// `instances`: confidently matched ones that bind their ends (all-pairs or two members). `domain`: per rank index.
[[nodiscard]] ClockModel MeasureClocks(const std::vector<const MatchedInstance*>& instances,
                                       const std::vector<int32_t>& domain, const std::vector<RankRows>& rows,
                                       Executor& executor);

}  // namespace lockstep
