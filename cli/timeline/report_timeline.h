// The timeline of a run that an aggregator holds: what its report tells of single collectives and steps. Streams, idle
// time and kernels are not in a report.
#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "analysis/metrics/run/analysis_options.h"
#include "analysis/report/rows/document.h"
#include "cli/timeline/timeline_export.h"
#include "cli/timeline/timeline_options.h"

namespace lockstep {

// What to ask for.
[[nodiscard]] AnalysisOptions TimelineViews(const TimelineOptions& asked);

// `document` is the answer to that. Errors: those of the sink.
[[nodiscard]] absl::StatusOr<TimelineResult> ExportReportTimeline(const report::Document& document,
                                                                  const std::string& run, const NamedRanks& named,
                                                                  const TimelineOptions& asked,
                                                                  TimelineFormatKind format, const TimelineSink& sink);

}  // namespace lockstep
