// The flags that choose, restrict and format a report: the same for analyze and show.
#pragma once

#include <absl/status/statusor.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/run/analysis_options.h"
#include "cli/output_flags.h"

namespace lockstep {

struct ReportFlags : OutputFlags {
  std::vector<std::string> views = {"summary"};
  std::string csv_style = "plain";
  std::string instances;  // "" = not asked, "1000", "all"
  std::string sort;
  std::optional<int64_t> limit;
  std::string steps;
  std::string time;
  std::string ranks;
  std::string nvtx;
  std::string kernels;
  std::string capture;
  bool one_run = false;
  std::string group_by = "full";
  std::string layout;
  std::string families;
  bool strict = false;
};

void AddReportFlags(CLI::App& verb, ReportFlags& flags);

// kInvalidArgument names the flag, what was met and what is understood.
absl::StatusOr<AnalysisOptions> OptionsFrom(const ReportFlags& flags);

}  // namespace lockstep
