#include "web/answers/asked_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/report/json.h"
#include "web/json/report_json.h"

namespace lockstep {
namespace {

absl::StatusOr<report::Document> AskDocument(const RunAnswers& answers, const std::string& run,
                                             std::vector<std::string> views) {
  AnalysisOptions options;
  options.views = std::move(views);
  LOCKSTEP_ASSIGN_OR_RETURN(const Json json, AskForViews(answers, run, options));
  try {
    return report::FromJson<report::Document>(json);
  } catch (const Json::exception& error) {
    return absl::DataLossError(
        fmt::format("the report on run '{}' cannot be read by this release of lockstep ({}): is the aggregator the "
                    "same version, and is its store intact?",
                    run, error.what()));
  }
}

// Of a run that was analysed the answer on each view is kept; of any other one they are best computed together.
absl::StatusOr<report::Document> AskEachView(const RunAnswers& answers, const std::string& run) {
  report::Document whole;
  for (const std::string& view : compare::ViewsToCompare()) {
    LOCKSTEP_ASSIGN_OR_RETURN(report::Document document, AskDocument(answers, run, {view}));
    whole.run = std::move(document.run);
    if (document.summary) whole.summary = std::move(document.summary);
    if (document.quality) whole.quality = std::move(document.quality);
    if (document.profile) whole.profile = std::move(document.profile);
  }
  return whole;
}

}  // namespace

absl::StatusOr<Json> AskForViews(const RunAnswers& answers, const std::string& run, const AnalysisOptions& options) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, answers.ViewsText(run, options));
  Json report = ParseReport(text);
  if (report.is_discarded()) {
    return absl::DataLossError(fmt::format(
        "the answer about run '{}' is no JSON ({} bytes): is the aggregator the same version?", run, text.size()));
  }
  return report;
}

absl::StatusOr<compare::ComparedRun> AskForRun(const RunAnswers& answers, const std::string& run, RunState state,
                                               const compare::RunContext& added) {
  LOCKSTEP_ASSIGN_OR_RETURN(report::Document document, state == RunState::kAnalysed
                                                           ? AskEachView(answers, run)
                                                           : AskDocument(answers, run, compare::ViewsToCompare()));
  return compare::ComparedRunOf(std::move(document), added);
}

std::vector<compare::ComparedRun> EarlierRunsAmong(const RunAnswers& answers, const compare::ComparedRun& base,
                                                   const std::vector<std::string>& compared, const AskRun& ask) {
  std::vector<compare::ComparedRun> earlier;
  const absl::StatusOr<std::vector<RunInfo>> runs = answers.Runs();
  if (!runs.ok()) return earlier;
  for (const RunInfo& info : *runs) {
    const bool is_compared = std::find(compared.begin(), compared.end(), info.name) != compared.end();
    if (is_compared || info.state != RunState::kAnalysed || earlier.size() == kMostEarlierRuns) continue;
    absl::StatusOr<compare::ComparedRun> run = ask(info.name, info.state);
    if (run.ok() && run->context == base.context) earlier.push_back(*std::move(run));
  }
  return earlier;
}

absl::StatusOr<report::History> FollowRuns(const RunAnswers& answers, compare::HistoryOfRuns history,
                                           const AskRun& ask) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<RunInfo> runs, answers.Runs());
  for (const RunInfo& info : runs) {
    const absl::StatusOr<compare::ComparedRun> run = ask(info.name, info.state);
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
    LOCKSTEP_ASSIGN_OR_RETURN(const compare::ComparedRun before, ask(changes[i].first, RunState::kAnalysed));
    LOCKSTEP_ASSIGN_OR_RETURN(const compare::ComparedRun after, ask(changes[i].second, RunState::kAnalysed));
    history.Explain(i, before, after);
  }
  return history.Take();
}

}  // namespace lockstep
