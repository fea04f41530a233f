// Two sources to send batches of.
#pragma once

#include "analysis/base/hash128.h"

namespace lockstep {

inline constexpr Hash128 kA = {0, 1};
inline constexpr Hash128 kB = {0, 2};

}  // namespace lockstep
