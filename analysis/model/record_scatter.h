// How exactly a profiler's records tell the order of activities.
#pragma once

#include <cstdint>

namespace lockstep {

// Times of records scatter by about a microsecond: what follows the end of work on another stream may show a start
// before it, by no more than this.
inline constexpr int64_t kRecordScatterNs = 4'000;

}  // namespace lockstep
