// Lists of ranks in words, short also for thousands of ranks. Pure and thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

// "3", "0-7", "3 and 5", "0-3, 8 and 12 more": ascending, three or more in a row are folded, and what is beyond the
// first `most` parts is only counted. "" for no ranks.
[[nodiscard]] std::string FoldedNumbers(std::vector<int32_t> numbers, size_t most = 8);

// The same with its noun: "rank 3", "ranks 0-7".
[[nodiscard]] std::string FoldedRanks(std::vector<int32_t> ranks, size_t most = 8);

}  // namespace lockstep
