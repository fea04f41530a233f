#include "cli/compared_runs.h"

#include <fmt/format.h>

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

absl::Status WithName(const std::string& name, const absl::Status& status) {
  const std::string message(status.message());
  return {status.code(), message.starts_with(name) ? message : fmt::format("{}: {}", name, message)};
}

}  // namespace

absl::StatusOr<compare::ComparedRun> AskForRun(const QueryClient& client, const std::string& run,
                                               const compare::RunContext& added) {
  WaitingLine waiting(fmt::format("analysing {}", run));
  report::Document whole;
  // One view a question: these are the answers that are kept.
  for (const std::string& view : compare::ViewsToCompare()) {
    LOCKSTEP_ASSIGN_OR_RETURN(report::Document document, Ask(client, run, {view}));
    whole.run = std::move(document.run);
    if (document.summary) whole.summary = std::move(document.summary);
    if (document.quality) whole.quality = std::move(document.quality);
    if (document.profile) whole.profile = std::move(document.profile);
  }
  return compare::ComparedRunOf(std::move(whole), added);
}

absl::StatusOr<compare::ComparedRun> ReadComparedRun(const std::string& name, const compare::RunContext& added,
                                                     const AnyRunOptions& options, const std::stop_token& stop) {
  const absl::StatusOr<AnyRun> run = AnyRun::Open(name, options, stop);
  if (!run.ok()) return WithName(name, run.status());
  absl::StatusOr<compare::ComparedRun> compared;
  if (run->is_stored()) {
    compared = AskForRun(run->query(), run->name(), added);
  } else {
    WaitingLine waiting(fmt::format("analysing {}", run->name()));
    absl::StatusOr<report::Document> document = Ask(run->query(), run->name(), compare::ViewsToCompare());
    if (!document.ok()) return WithName(name, document.status());
    compared = compare::ComparedRunOf(*std::move(document), added);
  }
  if (!compared.ok()) return WithName(name, compared.status());
  return compared;
}

}  // namespace lockstep
