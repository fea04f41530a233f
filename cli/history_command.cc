#include "cli/history_command.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/pipeline/run_context.h"
#include "analysis/base/status_macros.h"
#include "analysis/compare/history.h"
#include "cli/compared_runs.h"
#include "cli/output_flags.h"
#include "cli/report_output.h"
#include "platform/command_line/command_line.h"
#include "platform/log.h"

namespace lockstep {
namespace {

struct HistoryFlags : OutputFlags {
  RunSourceFlags source;
  std::string metric = "step_time";
  std::vector<std::string> context;
  int64_t limit = 100;
};

absl::StatusOr<compare::HistoryOfRuns> EmptyHistory(const HistoryFlags& flags) {
  compare::RunContext context;
  for (const std::string& text : flags.context) LOCKSTEP_RETURN_IF_ERROR(AddContext(text, context));
  return compare::HistoryOfRuns::Make(flags.metric, std::move(context));
}

// Runs are read one after the other; those at a change twice, so that memory is that of two.
absl::StatusOr<report::History> FollowRuns(const QueryClient& client, compare::HistoryOfRuns history) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<RunInfo> runs, client.Runs());
  for (const RunInfo& info : runs) {
    const absl::StatusOr<compare::ComparedRun> run = AskForRun(client, info.name, info.state, {});
    if (absl::IsUnavailable(run.status())) return run.status();
    if (run.ok()) {
      history.Add(*run);
    } else {
      history.LeaveOut(info.name, std::string(run.status().message()));
    }
  }
  // By now each was analysed.
  const std::vector<std::pair<std::string, std::string>> changes = history.FindChanges();
  for (size_t i = 0; i < changes.size(); ++i) {
    const auto ask = [&](const std::string& run) { return AskForRun(client, run, RunState::kAnalysed, {}); };
    LOCKSTEP_ASSIGN_OR_RETURN(const compare::ComparedRun before, ask(changes[i].first));
    LOCKSTEP_ASSIGN_OR_RETURN(const compare::ComparedRun after, ask(changes[i].second));
    history.Explain(i, before, after);
  }
  return history.Take();
}

std::string Render(const report::History& history, const HistoryFlags& flags) {
  if (flags.format == "json") return compare::RenderJson(history);
  if (flags.format == "csv") return compare::RenderCsv(history);
  TextOptions options = TextOptionsFrom(flags);
  options.max_rows = flags.limit;
  return compare::RenderText(history, options);
}

int ShowHistory(const HistoryFlags& flags) {
  SetLogLevel(*LogLevelFromName(flags.log_level));
  absl::StatusOr<compare::HistoryOfRuns> empty = EmptyHistory(flags);
  if (!empty.ok()) return Complain(empty.status(), kExitUsage);
  const absl::StatusOr<RunSource> source = RunSource::Open(flags.source);
  if (!source.ok()) return Complain(source.status(), ExitCodeOf(source.status()));
  const absl::StatusOr<report::History> history = FollowRuns(source->query(), *std::move(empty));
  if (!history.ok()) return Complain(history.status(), ExitCodeOf(history.status()));
  const absl::Status written = WriteText(Render(*history, flags), flags.output);
  return written.ok() ? kExitDone : Complain(written, kExitNoInput);
}

}  // namespace

std::function<int()> AddHistoryCommand(CLI::App& verb) {
  auto flags = std::make_shared<HistoryFlags>();
  AddRunSourceFlags(verb, flags->source);
  constexpr const char* kGroup = "What to show";
  verb.add_option("--metric", flags->metric, "step_time, or a part of the step such as compute or exposed_wait")
      ->option_text("METRIC")
      ->default_str("step_time")
      ->group(kGroup);
  verb.add_option("--context", flags->context,
                  "only runs with these values in their context, such as model=llama,batch=64")
      ->option_text("KEY=VALUE,...")
      ->delimiter(',')
      ->group(kGroup);
  verb.add_option("--limit", flags->limit, "show at most N runs")
      ->check(WholeNumber(0))
      ->option_text("N")
      ->default_str("100")
      ->group(kGroup);
  AddOutputFlags(verb, {"text", "json", "csv"}, "text, json (one document) or csv (the runs)", *flags);
  verb.footer(
      "Examples:\n"
      "  lockstep history --store runs.db\n"
      "      when the step time changed, with which run, and what else changed in it\n"
      "  lockstep history --store runs.db --metric exposed_wait --context model=llama");
  return [flags] { return ShowHistory(*flags); };
}

}  // namespace lockstep
