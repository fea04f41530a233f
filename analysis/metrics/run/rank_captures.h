// Several sources of one rank: disjoint windows are captures 0, 1, ... of it, overlapping ones are duplicates.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/run/analysis_options.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/model/run_data.h"

namespace lockstep {

struct CaptureChoice {
  std::vector<std::pair<size_t, int32_t>> kept;  // (source, capture number)
  std::vector<RefusedSource> refused;
  bool repeated = false;  // the rank has several captures
};

// `sources`: all sources claimed for `rank`, at least one. At most one is kept: the only capture, or the one that
// options.capture or capture_last asks for; captures that were not asked for are left out without being refused.
[[nodiscard]] CaptureChoice ChooseCapture(const RunData& run, int32_t rank, std::vector<size_t> sources,
                                          const AnalysisOptions& options);

}  // namespace lockstep
