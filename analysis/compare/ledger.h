// The change of the mean step, split into parts that sum to it exactly.
//
// A step of the job takes as long as on its slowest rank. On the mean rank it is the sum of the ten parts of parts.h;
// what the slowest rank takes longer is a part of its own. Computing is split further by family of kernels: kernels
// that run at once count once in computing and each by itself in their family, so that one entry more, below zero, is
// what runs at once. Waiting is split by whoever caused it, as the summary of each run attributes it. Own work and
// waiting are never mixed. Means are plain means over the compared steps, and over the runs of a side; each is rounded
// to whole ns so that the entries still sum. Pure, thread safe.
#pragma once

#include <vector>

#include "analysis/compare/sides.h"

namespace lockstep::compare {

// Ordered by size of the change; entries of zero on both sides are left out. Empty where a side has no steps.
[[nodiscard]] std::vector<report::LedgerEntry> LedgerOf(const Sides& sides);

// Whole numbers next to these that sum to the rounded sum of these.
[[nodiscard]] std::vector<int64_t> RoundedTogether(const std::vector<double>& values);

}  // namespace lockstep::compare
