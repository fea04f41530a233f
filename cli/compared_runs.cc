#include "cli/compared_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/report/json.h"
#include "cli/waiting_line.h"

namespace lockstep {
namespace {

absl::StatusOr<report::Document> Ask(const QueryClient& client, const std::string& run,
                                     std::vector<std::string> views) {
  AnalysisOptions options;
  options.views = std::move(views);
  LOCKSTEP_ASSIGN_OR_RETURN(const Json json, client.Views(run, options));
  return report::FromJson<report::Document>(json);
}

// kComplete for a run that the place does not know: the question about it says so.
absl::StatusOr<RunState> StateOf(const QueryClient& client, const std::string& run) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<RunInfo> runs, client.Runs());
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const RunInfo& info) { return info.name == run; });
  return found == runs.end() ? RunState::kComplete : found->state;
}

// Of a run that was analysed the answer on each view is kept; of any other one they are best computed together.
absl::StatusOr<report::Document> AskEach(const QueryClient& client, const std::string& run) {
  report::Document whole;
  for (const std::string& view : compare::ViewsToCompare()) {
    LOCKSTEP_ASSIGN_OR_RETURN(report::Document document, Ask(client, run, {view}));
    whole.run = std::move(document.run);
    if (document.summary) whole.summary = std::move(document.summary);
    if (document.quality) whole.quality = std::move(document.quality);
    if (document.profile) whole.profile = std::move(document.profile);
  }
  return whole;
}

absl::Status WithName(const std::string& name, const absl::Status& status) {
  const std::string message(status.message());
  return {status.code(), message.starts_with(name) ? message : fmt::format("{}: {}", name, message)};
}

}  // namespace

absl::StatusOr<compare::ComparedRun> AskForRun(const QueryClient& client, const std::string& run, RunState state,
                                               const compare::RunContext& added) {
  WaitingLine waiting(fmt::format("analysing {}", run));
  LOCKSTEP_ASSIGN_OR_RETURN(report::Document document, state == RunState::kAnalysed
                                                           ? AskEach(client, run)
                                                           : Ask(client, run, compare::ViewsToCompare()));
  return compare::ComparedRunOf(std::move(document), added);
}

absl::StatusOr<compare::ComparedRun> ReadComparedRun(const std::string& name, const compare::RunContext& added,
                                                     const AnyRunOptions& options, const std::stop_token& stop) {
  const absl::StatusOr<AnyRun> run = AnyRun::Open(name, options, stop);
  if (!run.ok()) return WithName(name, run.status());
  const absl::StatusOr<RunState> state = StateOf(run->query(), run->name());
  if (!state.ok()) return WithName(name, state.status());
  absl::StatusOr<compare::ComparedRun> compared = AskForRun(run->query(), run->name(), *state, added);
  if (!compared.ok()) return WithName(name, compared.status());
  return compared;
}

std::vector<compare::ComparedRun> EarlierRunsOf(const compare::ComparedRun& base,
                                                const std::vector<std::string>& compared,
                                                const AnyRunOptions& options) {
  std::vector<compare::ComparedRun> earlier;
  if (options.source.store.empty() && options.source.aggregator.empty()) return earlier;
  const absl::StatusOr<RunSource> source = RunSource::Open(options.source);
  if (!source.ok()) return earlier;
  const absl::StatusOr<std::vector<RunInfo>> runs = source->query().Runs();
  if (!runs.ok()) return earlier;
  for (const RunInfo& info : *runs) {
    const bool is_compared = std::find(compared.begin(), compared.end(), info.name) != compared.end();
    if (is_compared || info.state != RunState::kAnalysed || earlier.size() == kMostEarlierRuns) continue;
    absl::StatusOr<compare::ComparedRun> run = AskForRun(source->query(), info.name, info.state, {});
    if (run.ok() && run->context == base.context) earlier.push_back(*std::move(run));
  }
  return earlier;
}

}  // namespace lockstep
