#include "cli/history_command.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/pipeline/run_context.h"
#include "analysis/base/status_macros.h"
#include "analysis/compare/history.h"
#include "cli/compared_runs.h"
#include "cli/report_output.h"
#include "platform/command_line/command_line.h"
#include "platform/terminal.h"

namespace lockstep {
namespace {

struct HistoryFlags {
  RunSourceFlags source;
  std::string metric = "step_time";
  std::vector<std::string> context;
  std::string format = "text";
  std::string output;
  std::string color = "auto";
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
    const absl::StatusOr<compare::ComparedRun> run = AskForRun(client, info.name, {});
    if (absl::IsUnavailable(run.status())) return run.status();
    if (run.ok()) {
      history.Add(*run);
    } else {
      history.LeaveOut(info.name, std::string(run.status().message()));
    }
  }
  const std::vector<std::pair<std::string, std::string>> changes = history.FindChanges();
  for (size_t i = 0; i < changes.size(); ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(const compare::ComparedRun before, AskForRun(client, changes[i].first, {}));
    LOCKSTEP_ASSIGN_OR_RETURN(const compare::ComparedRun after, AskForRun(client, changes[i].second, {}));
    history.Explain(i, before, after);
  }
  return history.Take();
}

std::string Render(const report::History& history, const HistoryFlags& flags) {
  if (flags.format == "json") return compare::RenderJson(history);
  if (flags.format == "csv") return compare::RenderCsv(history);
  TextOptions options;
  const char* no_color = std::getenv("NO_COLOR");
  const bool allowed = flags.output.empty() && StdoutTakesEscapes() && (no_color == nullptr || *no_color == '\0');
  options.color = flags.color == "always" || (flags.color == "auto" && allowed);
  options.width = TextColumnsOfStdout(/*to_file=*/!flags.output.empty());
  options.max_rows = flags.limit;
  return compare::RenderText(history, options);
}

int ShowHistory(const HistoryFlags& flags) {
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
  constexpr const char* kOutput = "Output";
  verb.add_option("--format", flags->format, "text, json (one document) or csv (the runs)")
      ->check(OneOf({"text", "json", "csv"}))
      ->option_text("FORMAT")
      ->default_str("text")
      ->group(kOutput);
  verb.add_option("--output", flags->output, "write to this file instead of stdout")
      ->option_text("FILE")
      ->group(kOutput);
  verb.add_option("--color", flags->color, "auto, always or never")
      ->check(OneOf({"auto", "always", "never"}))
      ->option_text("WHEN")
      ->default_str("auto")
      ->group(kOutput);
  verb.footer(
      "Examples:\n"
      "  lockstep history --store runs.db\n"
      "      when the step time changed, with which run, and what else changed in it\n"
      "  lockstep history --store runs.db --metric exposed_wait --context model=llama");
  return [flags] { return ShowHistory(*flags); };
}

}  // namespace lockstep
