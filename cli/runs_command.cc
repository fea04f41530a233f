#include "cli/runs_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "analysis/base/status_macros.h"
#include "analysis/report/json.h"
#include "analysis/report/text/text_words.h"
#include "cli/filter_text.h"
#include "cli/prune_report.h"
#include "cli/report_output.h"
#include "cli/run_source.h"
#include "platform/clock.h"
#include "platform/command_line/command_line.h"

namespace lockstep {
namespace {

struct RunsFlags {
  RunSourceFlags source;
  std::string finish;
  std::string format = "text";
  std::string output;
  std::string older_than;
  std::string keep_bytes;
  bool prune = false;
  bool dry_run = false;
};

std::string AsText(const std::vector<RunInfo>& runs) {
  size_t width = 4;
  for (const RunInfo& run : runs) {
    width = std::max(width, run.name.size());
  }
  std::string text =
      fmt::format("{:{}}  {:9}  {:>8}  {:>8}  {:>8}\n", "run", width, "state", "sources", "complete", "expected");
  for (const RunInfo& run : runs) {
    text += fmt::format("{:{}}  {:9}  {:>8}  {:>8}  {:>8}\n", Printable(run.name), width, Name(run.state), run.sources,
                        run.complete_sources, run.expected_ranks < 0 ? "-" : std::to_string(run.expected_ranks));
  }
  return runs.empty() ? "no runs\n" : text;
}

std::string AsJson(const std::vector<RunInfo>& runs) {
  Json list = Json::array();
  for (const RunInfo& run : runs) {
    Json entry;
    entry["name"] = run.name;
    entry["state"] = std::string(Name(run.state));
    entry["expected_ranks"] = run.expected_ranks < 0 ? Json(nullptr) : Json(run.expected_ranks);
    entry["finished_by_hand"] = run.finished_by_hand;
    entry["sources"] = run.sources;
    entry["complete_sources"] = run.complete_sources;
    entry["baselines"] = run.baselines;
    list.push_back(std::move(entry));
  }
  Json document;
  document["schema"] = "lockstep.runs/1";
  document["runs"] = std::move(list);
  return RenderJson(document);
}

absl::StatusOr<PruneRequest> RequestFrom(const RunsFlags& flags) {
  PruneRequest request{.dry_run = flags.dry_run};
  if (!flags.older_than.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(request.older_than_ns, ParseAge(flags.older_than));
  }
  if (!flags.keep_bytes.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(request.keep_bytes, ParseByteCount(flags.keep_bytes));
  }
  if (!request.older_than_ns && !request.keep_bytes) {
    return absl::InvalidArgumentError("--prune needs --older-than AGE or --keep-bytes SIZE");
  }
  return request;
}

int PruneRuns(const RunsFlags& flags, const PruneRequest& request, const QueryClient& query) {
  const absl::StatusOr<std::vector<PruneVerdict>> verdicts = query.Prune(request);
  if (!verdicts.ok()) {
    return Complain(verdicts.status(), kExitNoInput);
  }
  const std::string text = flags.format == "json" ? PruneAsJson(*verdicts, flags.dry_run)
                                                  : PruneAsText(*verdicts, flags.dry_run, SystemClock().UnixNs());
  const absl::Status written = WriteText(text, flags.output);
  return written.ok() ? kExitDone : Complain(written, kExitNoInput);
}

int List(const RunsFlags& flags, const QueryClient& query) {
  const absl::StatusOr<std::vector<RunInfo>> runs = query.Runs();
  if (!runs.ok()) {
    return Complain(runs.status(), kExitNoInput);
  }
  const absl::Status written = WriteText(flags.format == "json" ? AsJson(*runs) : AsText(*runs), flags.output);
  return written.ok() ? kExitDone : Complain(written, kExitNoInput);
}

int RunRuns(const RunsFlags& flags) {
  const bool limits = !flags.older_than.empty() || !flags.keep_bytes.empty() || flags.dry_run;
  if (limits && !flags.prune) {
    return Complain(absl::InvalidArgumentError("--older-than, --keep-bytes and --dry-run need --prune"), kExitUsage);
  }
  const absl::StatusOr<PruneRequest> request = flags.prune ? RequestFrom(flags) : PruneRequest();
  if (!request.ok()) {
    return Complain(request.status(), kExitUsage);
  }
  const absl::StatusOr<RunSource> source = RunSource::Open(flags.source);
  if (!source.ok()) {
    return Complain(source.status(), ExitCodeOf(source.status()));
  }
  if (!flags.finish.empty()) {
    const absl::Status finished = source->query().FinishRun(flags.finish);
    return finished.ok() ? kExitDone : Complain(finished, kExitNoInput);
  }
  return flags.prune ? PruneRuns(flags, *request, source->query()) : List(flags, source->query());
}

}  // namespace

std::function<int()> AddRunsCommand(CLI::App& verb) {
  auto flags = std::make_shared<RunsFlags>();
  constexpr const char* kGroup = "What to do (default: list the runs)";
  AddRunSourceFlags(verb, flags->source);
  auto* const finish =
      verb.add_option("--finish", flags->finish, "mark this run complete: no agent will send more of it")
          ->option_text("RUN")
          ->group(kGroup);
  verb.add_flag("--prune", flags->prune, "remove old runs, except those that are being written")
      ->excludes(finish)
      ->group(kGroup);
  verb.add_option("--older-than", flags->older_than,
                  "with --prune: remove runs that have not changed for this long: 7d, 12h, 30m, 90s")
      ->option_text("AGE")
      ->group(kGroup);
  verb.add_option("--keep-bytes", flags->keep_bytes,
                  "with --prune: remove the oldest runs until the others fit: 10G, 500M")
      ->option_text("SIZE")
      ->group(kGroup);
  verb.add_flag("--dry-run", flags->dry_run, "with --prune: only say which runs would be removed")->group(kGroup);
  verb.add_option("--format", flags->format, "text or json")
      ->check(OneOf({"text", "json"}))
      ->option_text("FORMAT")
      ->default_str("text")
      ->group("Output");
  verb.add_option("--output", flags->output, "write the result to this file instead of stdout")
      ->option_text("FILE")
      ->group("Output");
  verb.footer(
      "Examples:\n"
      "  lockstep runs --store runs.db                          list the runs\n"
      "  lockstep runs --store runs.db --prune --older-than 7d --dry-run\n"
      "  lockstep runs --aggregator 127.0.0.1:7700 --finish monday\n"
      "  lockstep runs --aggregator agg.example:7700 --tls --token-file admin.token \\\n"
      "      --prune --keep-bytes 10G");
  return [flags] { return RunRuns(*flags); };
}

}  // namespace lockstep
