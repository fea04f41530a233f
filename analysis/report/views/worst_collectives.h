// summary.worst_collectives[]: the rows of the collectives view that cost most waiting.
#pragma once

#include <vector>

#include "analysis/metrics/match/match.h"
#include "analysis/metrics/skew/collectives.h"
#include "analysis/report/rows/summary.h"

namespace lockstep {

[[nodiscard]] std::vector<report::WorstCollective> WorstCollectives(const RunMatch& match,
                                                                    const std::vector<CollectiveRowResult>& rows);

}  // namespace lockstep
