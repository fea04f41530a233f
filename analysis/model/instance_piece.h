// How many instances a reader of many sources has of each at a time.
#pragma once

#include <cstddef>

namespace lockstep {

// What a store that can gives at a time, and what chapters are read in: how far they reach goes by it.
inline constexpr size_t kInstancesAPiece = 512;

}  // namespace lockstep
