// Lanes that share a communicator, found from how closely their ends and starts fit. See membership.h for the idea.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/match/lanes/coarse_clocks.h"

namespace lockstep {

struct LaneSets {
  std::vector<std::vector<size_t>> sets;  // each a communicator: indices of lanes, ascending
  bool telling = false;                   // some lanes are long enough to show whether they belong together
};

[[nodiscard]] LaneSets FindLaneSets(const std::vector<RankLane>& lanes, const ClockModel& clock, Executor& executor);

}  // namespace lockstep
