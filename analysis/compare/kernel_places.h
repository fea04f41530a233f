// Where the launches of kernels are in a step, as the profiles of the compared runs tell it. Pure, thread safe.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/compare/sides.h"

namespace lockstep::compare {

// Places of one kind cannot be compared with those of the other one.
enum class PlacesFrom : uint8_t {
  kTypicalStep,  // launch by launch
  kQuartiles,    // of the longest instances: what runs have that were condensed before version 8
};

// The typical step if every run that has kernels knows it of some.
[[nodiscard]] PlacesFrom PlacesOfBoth(const Sides& sides);

// KernelOfRun::places; nothing where the kernel has no launch there.
[[nodiscard]] std::vector<double> PlacesOf(const report::ProfileKernel& kernel, PlacesFrom from);

}  // namespace lockstep::compare
