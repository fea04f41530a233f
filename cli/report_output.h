// From a report document to what the person asked for, on stdout or in a file.
#pragma once

#include <absl/status/status.h>

#include <string>

#include "analysis/report/report.h"
#include "cli/query_client.h"
#include "cli/report_flags.h"

namespace lockstep {

struct ShownReport {
  int exit_code = 0;
  bool can_be_analysed = true;  // false: no report can be made of the run, whatever is asked for
};

// Asks for the report of a run, renders and writes it; a closed pipe is no error. Problems are printed on stderr.
ShownReport ShowReport(const QueryClient& client, const std::string& run, const ReportFlags& flags,
                       const AnalysisOptions& asked);

// Writes text to --output or stdout.
absl::Status WriteText(const std::string& text, const std::string& output);

// "lockstep: message" on stderr; returns the code.
int Complain(const absl::Status& status, int exit_code);
// The exit code that an error of a query or of the store stands for.
[[nodiscard]] int ExitCodeOf(const absl::Status& status);

}  // namespace lockstep
