// `lockstep export --to perfetto | chrome | manifest`: all ranks of a run on one time axis, for a viewer.
#pragma once

#include <absl/status/status.h>

#include <CLI/CLI.hpp>
#include <stop_token>
#include <string>

#include "cli/any_run.h"

namespace lockstep {

struct TimelineFlags {
  std::string ranks;
  std::string steps;
  std::string time;
  std::string kernels = "culprits";
  std::string max_size;      // "" = what a browser holds
  std::string max_residual;  // "" = kMostResidualNs
};

void AddTimelineFlags(CLI::App& verb, TimelineFlags& flags);
// kInvalidArgument: one of them is given and means nothing for this format.
[[nodiscard]] absl::Status CheckTimelineFlags(const CLI::App& verb, const std::string& format);

// Writes the file, and tells on stderr what is in it and what is not. Errors: those of AnyRun, of the flags, and of
// what writes the file; kFailedPrecondition: the original files are asked for, and only a store or an aggregator is
// there.
[[nodiscard]] absl::Status ExportForViewer(const std::string& run, const std::string& format,
                                           const TimelineFlags& flags, const AnyRunOptions& input,
                                           const std::string& output, const std::stop_token& stop);

}  // namespace lockstep
