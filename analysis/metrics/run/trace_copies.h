// The same device rows given twice: a trace and its compressed form, with rows added by another tool, or as a part
// of a file that merges several ranks.
//
// Two sources have the same rows if they have as many kernels, collectives, copies, memsets and graphs, if all kernels
// together take equally long to the nanosecond, and if they span as much within the rounding of a time that was written
// again. Sources of one rank that do are copies if they begin together or have so many kernels that this cannot be
// chance; sources of unknown rank are copies if they begin together on the same device. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/metrics/run/rank_groups.h"
#include "analysis/model/run_data.h"

namespace lockstep {

struct TraceCopy {
  size_t source = 0;
  size_t original = 0;  // the source whose rows it repeats
};

// Of every set of equal sources one is no copy: one of a file of its own before one of a merged file, then one that was
// read to its end, then the first by path.
[[nodiscard]] std::vector<TraceCopy> FindTraceCopies(const RunData& run, const std::vector<GroupCandidate>& candidates);

// Sources that have a part of the rows of another one of the same process and device that begins together with them,
// and are not of another rank: of files that could be read in part only, or of which a tool removed rows. O(n log n).
[[nodiscard]] std::vector<TraceCopy> FindCutCopies(const RunData& run, const std::vector<GroupCandidate>& candidates);

}  // namespace lockstep
