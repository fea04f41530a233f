#include "cli/any_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "analysis/base/status_macros.h"
#include "cli/input_problems.h"
#include "cli/stored_steps.h"
#include "cli/trace_ingest.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

// With a store or an aggregator a name is that of a run, unless it can only be a path.
bool IsPath(const std::string& name) {
  return name.starts_with('/') || name.starts_with("./") || name.starts_with("../") || name.ends_with('/');
}

bool IsOnDisk(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

absl::StatusOr<std::unique_ptr<EmbeddedCluster>> ReadTraces(const EmbeddedIngest& ingest, const std::string& path,
                                                            const AnyRunOptions& options, const std::stop_token& stop) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto cluster, EmbeddedCluster::Open({.threads = static_cast<size_t>(options.jobs)}));
  LOCKSTEP_RETURN_IF_ERROR(ReadInto(*cluster, ingest, path, stop));
  if (!options.step_range.empty()) {
    LOCKSTEP_RETURN_IF_ERROR(CheckStepRange(cluster->store(), ingest.run, options.step_range));
  }
  return cluster;
}

}  // namespace

absl::Status ReadInto(EmbeddedCluster& cluster, const EmbeddedIngest& ingest, const std::string& path,
                      const std::stop_token& stop) {
  LOCKSTEP_ASSIGN_OR_RETURN(const IngestOutcome outcome, IngestWithProgress(cluster, ingest, stop));
  TellProblems(outcome, {path});
  if (std::none_of(outcome.files.begin(), outcome.files.end(), IsUsable)) return NoTraceIn({path}, ingest.inputs);
  return absl::OkStatus();
}

absl::StatusOr<EmbeddedIngest> IngestOf(const std::string& path, const AnyRunOptions& options) {
  EmbeddedIngest ingest;
  ingest.inputs = ListInputs({path});
  LOCKSTEP_RETURN_IF_ERROR(TakeOutContextFiles(ingest.inputs));
  ingest.run = RunNameOf(ingest.inputs.files);
  ingest.send.condense.read.step_range = options.step_range;
  ingest.send.condense.tmp_dir = DefaultTempParent();
  ingest.send.jobs = static_cast<size_t>(options.jobs);
  return ingest;
}

absl::StatusOr<AnyRun> AnyRun::Open(const std::string& name, const AnyRunOptions& options,
                                    const std::stop_token& stop) {
  AnyRun run;
  RunSourceFlags flags = options.source;
  run.name_ = name;
  const size_t at = name.rfind('@');
  if (at != std::string::npos && at > 0 && IsOnDisk(name.substr(at + 1))) {
    run.name_ = name.substr(0, at);
    flags = {};
    flags.store = name.substr(at + 1);
  }
  const bool is_traces = IsPath(name) && IsOnDisk(name);
  if (!is_traces && (!flags.store.empty() || !flags.aggregator.empty())) {
    LOCKSTEP_ASSIGN_OR_RETURN(RunSource source, RunSource::Open(flags));
    run.source_ = std::make_unique<RunSource>(std::move(source));
    return run;
  }
  if (!IsOnDisk(name)) {
    return absl::NotFoundError(
        fmt::format("{}: there is no such file or folder; a stored run is named with --store FILE, with --aggregator "
                    "HOST:PORT, or as NAME@STORE",
                    name));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const EmbeddedIngest ingest, IngestOf(name, options));
  run.name_ = ingest.run;
  LOCKSTEP_ASSIGN_OR_RETURN(run.cluster_, ReadTraces(ingest, name, options, stop));
  return run;
}

}  // namespace lockstep
