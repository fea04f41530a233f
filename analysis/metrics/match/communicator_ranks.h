// Which ranks take part in each communicator of a match. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/match/match.h"

namespace lockstep {

// By communicator: the indices of the ranks that have rows of it, ascending.
[[nodiscard]] std::vector<std::vector<int32_t>> RanksOfCommunicators(const MatchResult& match);

}  // namespace lockstep
