// Integers of 128 bits, which GCC and clang have and the standard has not.
#pragma once

namespace lockstep {

__extension__ typedef unsigned __int128 uint128;
__extension__ typedef __int128 int128;

inline constexpr uint128 kMaxUint128 = ~uint128{0};

}  // namespace lockstep
