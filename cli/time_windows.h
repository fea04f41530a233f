// Converts a time on the aligned axis of a run to the clock of each of its sources.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "agent/pipeline/file_selection.h"
#include "aggregator/store/job_store.h"
#include "analysis/metrics/run/analysis_options.h"

namespace lockstep {

// Of options.time_ns, for every rank that is analysed. Errors: those of the store and of the matching.
absl::StatusOr<std::vector<FileSelection::Window>> TimeWindows(JobStore& store, const std::string& run,
                                                               const AnalysisOptions& options);

}  // namespace lockstep
