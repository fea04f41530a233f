// Where the sequence of a rank's instances broke, read off the joined instances of one communicator.
#pragma once

#include <vector>

#include "analysis/metrics/match/match.h"

namespace lockstep {

inline constexpr size_t kMaxBreaksPerRank = 64;

// `instances`: of one communicator, in order of their index. `ranks`: rank indices that carry instances of it,
// ascending. Runs of instances that a rank lacks, and of rows that nobody else has; by rank, then time; the first
// kMaxBreaksPerRank of each rank.
[[nodiscard]] std::vector<SequenceBreak> FindBreaks(uint32_t communicator, const std::vector<int32_t>& ranks,
                                                    const std::vector<const MatchedInstance*>& instances);

}  // namespace lockstep
