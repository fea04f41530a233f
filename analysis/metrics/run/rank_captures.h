// The captures of a run: several recordings of its ranks, one after the other.
//
// The sources of one rank whose windows do not overlap are captures of it; those that overlap are duplicates. A capture
// of the run is what overlaps across the ranks. Where no such capture holds all ranks, as where the clocks of hosts are
// far apart, capture k is the k-th of every rank if all have equally many. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analysis/metrics/run/analysis_options.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/model/run_data.h"

namespace lockstep {

struct ChosenCaptures {
  struct Kept {
    size_t source = 0;
    int32_t rank = -1;
    int32_t capture = 0;
  };
  std::vector<Kept> kept;
  std::vector<LeftOutSource> left_out;
  std::vector<RefusedSource> refused;   // duplicates, and ranks without the capture that was asked for
  std::optional<RunCaptures> captures;  // set if the run has several
  int32_t most_duplicates = 1;          // sources of one rank at one time, at most,
  int32_t least_duplicates = 1;         // and at least
};

// `sources`: by rank, at least one of each. Without --capture the last capture that most ranks have is analysed.
[[nodiscard]] ChosenCaptures ChooseCaptures(const RunData& run, const std::map<int32_t, std::vector<size_t>>& sources,
                                            const AnalysisOptions& options);

}  // namespace lockstep
