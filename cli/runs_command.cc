#include "cli/runs_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "analysis/report/report.h"
#include "cli/report_output.h"
#include "cli/run_source.h"

namespace lockstep {
namespace {

struct RunsFlags {
  RunSourceFlags source;
  std::string finish;
  std::string format = "text";
  std::string output;
  bool prune = false;
};

std::string AsText(const std::vector<RunInfo>& runs) {
  size_t width = 4;
  for (const RunInfo& run : runs) {
    width = std::max(width, run.name.size());
  }
  std::string text =
      fmt::format("{:{}}  {:9}  {:>8}  {:>8}  {:>8}\n", "run", width, "state", "sources", "complete", "expected");
  for (const RunInfo& run : runs) {
    text += fmt::format("{:{}}  {:9}  {:>8}  {:>8}  {:>8}\n", run.name, width, Name(run.state), run.sources,
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
    list.push_back(std::move(entry));
  }
  Json document;
  document["schema"] = "lockstep.runs/1";
  document["runs"] = std::move(list);
  return RenderJson(document);
}

int ListOrFinish(const RunsFlags& flags) {
  if (flags.prune) {
    return Complain(absl::UnimplementedError("--prune is not built yet in this release"), kExitUsage);
  }
  const absl::StatusOr<RunSource> source = RunSource::Open(flags.source);
  if (!source.ok()) {
    return Complain(source.status(), ExitCodeOf(source.status()));
  }
  if (!flags.finish.empty()) {
    const absl::Status finished = source->query().FinishRun(flags.finish);
    return finished.ok() ? kExitDone : Complain(finished, kExitNoInput);
  }
  const absl::StatusOr<std::vector<RunInfo>> runs = source->query().Runs();
  if (!runs.ok()) {
    return Complain(runs.status(), kExitNoInput);
  }
  const absl::Status written = WriteText(flags.format == "json" ? AsJson(*runs) : AsText(*runs), flags.output);
  return written.ok() ? kExitDone : Complain(written, kExitNoInput);
}

}  // namespace

std::function<int()> AddRunsCommand(CLI::App& verb) {
  auto flags = std::make_shared<RunsFlags>();
  AddRunSourceFlags(verb, flags->source);
  verb.add_option("--finish", flags->finish, "say that no more sources of this run will come");
  verb.add_flag("--prune", flags->prune, "remove old runs (not built yet)");
  verb.add_option("--format", flags->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->default_str("text");
  verb.add_option("--output", flags->output, "write the result to this file instead of stdout");
  verb.footer(
      "Examples:\n"
      "  lockstep runs --store runs.db\n"
      "  lockstep runs --aggregator 127.0.0.1:7700 --finish monday");
  return [flags] { return ListOrFinish(*flags); };
}

}  // namespace lockstep
