// Sorting many whole numbers that are not negative, such as durations: by their digits, which takes no comparisons that
// a processor would guess wrong half of the time. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

// Ascending. Values below 0 come last.
void SortValues(std::vector<int64_t>& values);

}  // namespace lockstep
