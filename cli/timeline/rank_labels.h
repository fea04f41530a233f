// How the ranks of a timeline are called, and what is said of their clocks.
#pragma once

#include <string>
#include <vector>

#include "analysis/export/perfetto/timeline.h"
#include "analysis/model/run_data.h"
#include "cli/timeline/kernel_ranks.h"
#include "cli/timeline/run_events.h"

namespace lockstep {

// By place.
[[nodiscard]] std::vector<perfetto::ExportedRank> ExportedRanks(const RunData& run, const RunEvents& events,
                                                                const NamedRanks& named);
// How well the clocks of all of them are known, in a sentence.
[[nodiscard]] std::string ClocksInWords(const RunEvents& events);

}  // namespace lockstep
