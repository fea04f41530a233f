// Units of a rank from which instances are missing: what was seen of them is scaled up, or they are left out. Pure.
// Thread safe, as long as no two threads change the same rank. Units: ns.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/stragglers/own_time.h"

namespace lockstep {

// The median of the counts that are not 0.
[[nodiscard]] int64_t UsualCount(const std::vector<int64_t>& counts);

// How many instances a rank of a communicator has if it lost none.
struct UsualInstances {
  int64_t count = 0;             // in most units
  std::vector<int64_t> in_unit;  // where units are steps
};

// Scales what the rank did in each unit up to all instances of the unit, and counts the units. A unit of which less
// than half was seen tells nothing: it becomes NaN. `counts`: the rank's instances by unit.
void CompleteUnits(const std::vector<int64_t>& counts, const UsualInstances& usual, bool are_steps, RankOwnTime& rank);

// Makes the own time of steps that lack instances NaN, if they are less than half of the steps. What a rank does before
// one instance may be nearly all of its step, so that the rest of the step does not make up for it.
void DropIncompleteSteps(const std::vector<int64_t>& counts, const std::vector<int64_t>& whole, RankOwnTime& rank);

// Makes steps that lack places NaN, if they are less than half of the steps. Neighbours in a pipeline do different work
// from place to place, so that the excess in such a step is not what it is in the others. `compared`: instances by unit
// in which the rank was compared.
void DropUnitsThatLackPlaces(const std::vector<int64_t>& compared, RankOwnTime& rank);

}  // namespace lockstep
