// From a report document to what the person asked for, on stdout or in a file.
#pragma once

#include <absl/status/status.h>

#include <string>

#include "analysis/report/report.h"
#include "cli/report_flags.h"

namespace lockstep {

// Renders and writes; a closed pipe is no error. With --strict the document must hold the quality view: it is taken out
// again if it was not asked for. Returns an exit code; problems are told on stderr.
int WriteReport(Json report, const ReportFlags& flags, const AnalysisOptions& asked);

// The views to compute: those asked for, and quality if --strict needs it.
[[nodiscard]] AnalysisOptions WithStrictViews(AnalysisOptions options, const ReportFlags& flags);

// Writes text to --output or stdout.
absl::Status WriteText(const std::string& text, const std::string& output);

// "lockstep: message" on stderr; returns the code.
int Complain(const absl::Status& status, int exit_code);
// The exit code that an error of a query or of the store stands for.
[[nodiscard]] int ExitCodeOf(const absl::Status& status);

}  // namespace lockstep
