// Lengths of time for tests, in nanoseconds: 30 * kUs.
#pragma once

#include <cstdint>

#include "analysis/base/time.h"

namespace lockstep {

inline constexpr int64_t kUs = kNsPerUs;
inline constexpr int64_t kMs = kNsPerMs;

}  // namespace lockstep
