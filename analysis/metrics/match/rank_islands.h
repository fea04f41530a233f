// Sets of ranks that have nothing to do with each other: what is matched and summed of one needs none of the others. A
// fleet of replicas is many, a training is one. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/base/disjoint_sets.h"

namespace lockstep {

using RankIslands = std::vector<std::vector<size_t>>;  // rank indices ascending, the sets by their lowest

[[nodiscard]] RankIslands IslandsOf(DisjointSets& connected, size_t ranks);

// Neighbouring sets are put together until none has fewer than a 128th of all ranks: what is done once a set costs more
// the more ranks there are.
[[nodiscard]] RankIslands PackIslands(RankIslands islands);

}  // namespace lockstep
