// Sums that stop at their largest value instead of wrapping: no physical run comes near, and what was tampered with
// must not make the arithmetic overflow. The order of adding makes no difference.
#pragma once

#include <cstdint>

#include "analysis/base/int128.h"

namespace lockstep {

// Of values that are not negative.
[[nodiscard]] constexpr int64_t AddStopping(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

[[nodiscard]] constexpr uint128 AddStopping(uint128 a, uint128 b) { return a > ~uint128{0} - b ? ~uint128{0} : a + b; }

}  // namespace lockstep
