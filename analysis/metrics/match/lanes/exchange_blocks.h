// Ranks that exchange all with all, in groups of one size, from when their kernels of nothing but exchanges started and
// ended: the expert-parallel groups of traces that name no group.
//
// Such a kernel cannot end before all members of its group have started. Two lanes are of different groups if the n-th
// rows of their steps contradict that. They are of one group if one of them started later than the other one usually
// takes, and the other one was still running all the same. A set of lanes that hang together so, and that all others
// are apart from, is a group. Groups of a program have one shape: every `stride`-th rank, `size` of them. So one group
// tells the others, if no two lanes of one of these are apart.
//
// Internal to the joining of instances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

struct BlockRow {
  int64_t step = 0;  // of a rank's own count; rows of none are left out
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// Of one rank.
struct BlockLane {
  int32_t rank = 0;            // its number in the job
  int32_t clock = 0;           // its domain
  std::vector<BlockRow> rows;  // on an axis that all share, in order of start
};

// Sets of lanes, each ascending, in order of their first ranks. Lanes ascend by rank. None where no group of three or
// more is shown, where it is all of the lanes, or where the lanes do not fill groups of its shape.
[[nodiscard]] std::vector<std::vector<size_t>> FindExchangeBlocks(const std::vector<BlockLane>& lanes);

}  // namespace lockstep
