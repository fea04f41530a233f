#include "cli/compared_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "analysis/base/status_macros.h"
#include "cli/waiting_line.h"

namespace lockstep {
namespace {

// kComplete for a run that the place does not know: the question about it says so.
absl::StatusOr<RunState> StateOf(const QueryClient& client, const std::string& run) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<RunInfo> runs, client.Runs());
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const RunInfo& info) { return info.name == run; });
  return found == runs.end() ? RunState::kComplete : found->state;
}

absl::Status WithName(const std::string& name, const absl::Status& status) {
  const std::string message(status.message());
  return {status.code(), message.starts_with(name) ? message : fmt::format("{}: {}", name, message)};
}

// A name was taken for that of a run, which there is none of: what is on disk under this name may have been meant.
absl::Status WithPath(const std::string& name, const AnyRun& run, const absl::Status& status) {
  std::error_code error;
  if (!absl::IsNotFound(status) || run.has_traces() || !std::filesystem::exists(name, error)) return status;
  return {status.code(),
          fmt::format("{}; for the traces of this name write ./{}", std::string(status.message()), name)};
}

}  // namespace

AskRun AskWaiting(const RunAnswers& answers) {
  return [&answers](const std::string& run, RunState state) {
    WaitingLine waiting(fmt::format("analysing {}", run));
    return AskForRun(answers, run, state, {});
  };
}

absl::StatusOr<compare::ComparedRun> ReadComparedRun(const std::string& name, const compare::RunContext& added,
                                                     const AnyRunOptions& options, const std::stop_token& stop) {
  const absl::StatusOr<AnyRun> run = AnyRun::Open(name, options, stop);
  if (!run.ok()) return WithName(name, run.status());
  const absl::StatusOr<RunState> state = StateOf(run->query(), run->name());
  if (!state.ok()) return WithName(name, state.status());
  WaitingLine waiting(fmt::format("analysing {}", run->name()));
  absl::StatusOr<compare::ComparedRun> compared = AskForRun(run->query(), run->name(), *state, added);
  waiting.Clear();
  if (!compared.ok()) return WithPath(name, *run, WithName(name, compared.status()));
  return compared;
}

std::vector<compare::ComparedRun> EarlierRunsOf(const compare::ComparedRun& base,
                                                const std::vector<std::string>& compared,
                                                const AnyRunOptions& options) {
  if (options.source.store.empty() && options.source.aggregator.empty()) return {};
  const absl::StatusOr<RunSource> source = RunSource::Open(options.source);
  if (!source.ok()) return {};
  return EarlierRunsAmong(source->query(), base, compared, AskWaiting(source->query()));
}

}  // namespace lockstep
