// Values in condensed rows that stand for "none". INT64_MIN never travels: optional fields on the wire stand for these.
#pragma once

#include <cstdint>

namespace lockstep {

inline constexpr int64_t kNoStep = INT64_MIN;  // an activity or instance of no step
inline constexpr int64_t kNoTime = INT64_MIN;  // a time that was not recorded

}  // namespace lockstep
