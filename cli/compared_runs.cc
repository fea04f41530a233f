#include "cli/compared_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/report/json.h"
#include "cli/input_problems.h"
#include "cli/trace_ingest.h"
#include "cli/waiting_line.h"
#include "platform/file_system.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

constexpr const char* kContextFile = "lockstep-context.json";
constexpr int64_t kMaxContextBytes = int64_t{1} << 20;

absl::Status WithName(const std::string& name, const absl::Status& status) {
  return {status.code(), fmt::format("{}: {}", name, std::string(status.message()))};
}

// The profile of a run, through the same question whoever holds it.
absl::StatusOr<compare::ComparedRun> Ask(const QueryClient& client, const std::string& run,
                                         const compare::RunContext& context) {
  report::Document whole;
  WaitingLine waiting(fmt::format("analysing {}", run));
  // One view a question: these are the answers that a store keeps.
  for (const std::string& view : compare::ViewsToCompare()) {
    AnalysisOptions options;
    options.views = {view};
    LOCKSTEP_ASSIGN_OR_RETURN(const Json json, client.Views(run, options));
    report::Document document = report::FromJson<report::Document>(json);
    whole.run = std::move(document.run);
    if (document.summary) whole.summary = std::move(document.summary);
    if (document.quality) whole.quality = std::move(document.quality);
    if (document.profile) whole.profile = std::move(document.profile);
  }
  return compare::ComparedRunOf(std::move(whole), context);
}

// What people know of a run and no trace says, in a file of one JSON object.
absl::Status AddContextOfFolder(const std::string& folder, compare::RunContext& context) {
  const std::string path = (std::filesystem::path(folder) / kContextFile).string();
  if (!FileSize(path).ok()) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMaxContextBytes));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(fmt::format("{}: it must be one JSON object of keys and values", path));
  }
  for (const auto& [key, value] : json.items()) {
    if (value.is_structured() || value.is_null()) {
      return absl::InvalidArgumentError(
          fmt::format("{}: the value of '{}' must be text, a number or a truth value", path, key));
    }
    context.try_emplace(key, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return absl::OkStatus();
}

absl::StatusOr<compare::ComparedRun> ReadTraces(const std::string& path, compare::RunContext context,
                                                const ComparedRunsOptions& options, const std::stop_token& stop) {
  LOCKSTEP_RETURN_IF_ERROR(AddContextOfFolder(path, context));
  EmbeddedIngest ingest;
  ingest.inputs = ListInputs({path});
  ingest.run = RunNameOf(ingest.inputs.files);
  ingest.send.condense.read.step_range = options.step_range;
  ingest.send.condense.tmp_dir = DefaultTempParent();
  ingest.send.jobs = static_cast<size_t>(options.jobs);
  LOCKSTEP_ASSIGN_OR_RETURN(const auto cluster, EmbeddedCluster::Open({.threads = static_cast<size_t>(options.jobs)}));
  LOCKSTEP_ASSIGN_OR_RETURN(const IngestOutcome outcome, IngestWithProgress(*cluster, ingest, stop));
  TellProblems(outcome, {path});
  if (std::none_of(outcome.files.begin(), outcome.files.end(), IsUsable)) return NoTraceIn({path}, ingest.inputs);
  return Ask(cluster->query(), ingest.run, context);
}

absl::StatusOr<compare::ComparedRun> ReadStored(const std::string& run, const RunSourceFlags& flags,
                                                const compare::RunContext& context) {
  LOCKSTEP_ASSIGN_OR_RETURN(const RunSource source, RunSource::Open(flags));
  return Ask(source.query(), run, context);
}

bool IsOnDisk(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

absl::StatusOr<compare::ComparedRun> ReadComparedRun(const std::string& name, const compare::RunContext& added,
                                                     const ComparedRunsOptions& options, const std::stop_token& stop) {
  absl::StatusOr<compare::ComparedRun> run;
  const size_t at = name.rfind('@');
  const bool has_source = !options.source.store.empty() || !options.source.aggregator.empty();
  if (at != std::string::npos && at > 0 && IsOnDisk(name.substr(at + 1))) {
    RunSourceFlags store;
    store.store = name.substr(at + 1);
    run = ReadStored(name.substr(0, at), store, added);
  } else if (has_source) {
    run = ReadStored(name, options.source, added);
  } else if (IsOnDisk(name)) {
    run = ReadTraces(name, added, options, stop);
  } else {
    return absl::InvalidArgumentError(
        fmt::format("{}: there is no such file or folder; a stored run is named with --store FILE, with --aggregator "
                    "HOST:PORT, or as NAME@STORE",
                    name));
  }
  if (!run.ok()) return WithName(name, run.status());
  return run;
}

absl::Status AddContext(const std::string& text, compare::RunContext& context) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return absl::InvalidArgumentError(fmt::format("--context '{}': it must be KEY=VALUE", text));
  }
  context[text.substr(0, equals)] = text.substr(equals + 1);
  return absl::OkStatus();
}

}  // namespace lockstep
