#include "cli/history_command.h"

#include <memory>
#include <string>
#include <utility>

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
  const absl::StatusOr<report::History> history =
      FollowRuns(source->query(), *std::move(empty), AskWaiting(source->query()));
  if (!history.ok()) return Complain(history.status(), ExitCodeOf(history.status()));
  const absl::Status written = WriteText(Render(*history, flags), flags.output);
  return written.ok() ? kExitDone : Complain(written, kExitNoInput);
}

}  // namespace

std::function<int()> AddHistoryCommand(CLI::App& verb) {
  auto flags = std::make_shared<HistoryFlags>();
  AddRunSourceFlags(verb, flags->source);
  constexpr const char* kGroup = "What to show";
  verb.add_option("--metric", flags->metric,
                  "step_time, step_time_mean (with checkpoints and pauses), idle, or a part of the step such as "
                  "compute or exposed_wait")
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
