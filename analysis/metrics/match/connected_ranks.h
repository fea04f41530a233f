// Ranks that have to do with each other, directly or through others.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/metrics/match/match.h"

namespace lockstep {

// By rank index: the set of ranks that usable instances connect with it, named by its lowest rank index. Pure.
[[nodiscard]] std::vector<size_t> ConnectedRanks(const MatchResult& match, size_t ranks);

}  // namespace lockstep
