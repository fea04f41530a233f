#include "web/answers/page_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/compare/compare.h"
#include "analysis/compare/render/render.h"
#include "analysis/report/json.h"
#include "platform/web/url.h"
#include "web/answers/asked_runs.h"
#include "web/answers/page_data.h"

namespace lockstep {
namespace {

absl::Status NotThisRelease(const std::string& run, const Json::exception& error) {
  return absl::DataLossError(fmt::format(
      "the report on run '{}' cannot be shown by this release of lockstep ({}): is the aggregator the same version?",
      run, error.what()));
}

// Each run of a side; kNotFound names the first that is not there.
absl::StatusOr<std::vector<RunInfo>> FindSide(const std::vector<RunInfo>& runs, const std::vector<std::string>& names) {
  std::vector<RunInfo> side;
  for (const std::string& name : names) {
    const auto found = std::find_if(runs.begin(), runs.end(), [&](const RunInfo& info) { return info.name == name; });
    if (found == runs.end()) return absl::NotFoundError(fmt::format("there is no run '{}'", name));
    side.push_back(*found);
  }
  return side;
}

absl::StatusOr<std::vector<compare::ComparedRun>> AskSide(const RunAnswers& answers, const std::vector<RunInfo>& runs) {
  std::vector<compare::ComparedRun> side;
  for (const RunInfo& info : runs) {
    LOCKSTEP_ASSIGN_OR_RETURN(compare::ComparedRun run, AskForRun(answers, info.name, info.state, {}));
    side.push_back(std::move(run));
  }
  return side;
}

}  // namespace

absl::StatusOr<std::string> RunPageJson(const RunAnswers& answers, const std::string& run) {
  AnalysisOptions options;
  options.views = PageViews();
  LOCKSTEP_ASSIGN_OR_RETURN(Json report, AskForViews(answers, run, options));
  try {
    const PageHead head = HeadOfReport(report);
    return ReportPageData(head, std::move(report));
  } catch (const Json::exception& error) {
    return NotThisRelease(run, error);
  }
}

absl::StatusOr<std::string> ComparePageJson(const RunAnswers& answers, const std::vector<std::string>& base,
                                            const std::vector<std::string>& fresh) {
  if (base.empty() || fresh.empty()) {
    return absl::InvalidArgumentError("a comparison needs two runs: ?base=NAME&new=NAME; each may come several times");
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<RunInfo> runs, answers.Runs());
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<RunInfo> base_runs, FindSide(runs, base));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<RunInfo> fresh_runs, FindSide(runs, fresh));
  compare::Sides sides;
  LOCKSTEP_ASSIGN_OR_RETURN(sides.base, AskSide(answers, base_runs));
  LOCKSTEP_ASSIGN_OR_RETURN(sides.fresh, AskSide(answers, fresh_runs));
  if (base.size() == 1 && fresh.size() == 1) {
    const AskRun ask = [&](const std::string& run, RunState state) { return AskForRun(answers, run, state, {}); };
    sides.earlier = EarlierRunsAmong(answers, sides.base.front(), {base.front(), fresh.front()}, ask);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const report::ComparisonDocument document, compare::Compare(std::move(sides), {}));
  return ComparisonPageData(HeadOfComparison(document), report::ToJson(document));
}

absl::StatusOr<std::string> HistoryJson(const RunAnswers& answers, const std::string& metric,
                                        const compare::RunContext& context) {
  LOCKSTEP_ASSIGN_OR_RETURN(compare::HistoryOfRuns empty, compare::HistoryOfRuns::Make(metric, context));
  const AskRun ask = [&](const std::string& run, RunState state) { return AskForRun(answers, run, state, {}); };
  LOCKSTEP_ASSIGN_OR_RETURN(const report::History history, FollowRuns(answers, std::move(empty), ask));
  return compare::RenderJson(history);
}

std::string RunsJson(const std::vector<RunInfo>& runs) {
  Json list = Json::array();
  for (const RunInfo& run : runs) {
    Json entry;
    entry["name"] = run.name;
    entry["path"] = PercentEncode(run.name);
    entry["state"] = std::string(Name(run.state));
    entry["expected_ranks"] = run.expected_ranks < 0 ? Json(nullptr) : Json(run.expected_ranks);
    entry["finished_by_hand"] = run.finished_by_hand;
    entry["sources"] = run.sources;
    entry["complete_sources"] = run.complete_sources;
    entry["changed_unix_ns"] = run.changed_unix_ns == 0 ? Json(nullptr) : Json(std::to_string(run.changed_unix_ns));
    entry["version"] = VersionOf(run);
    list.push_back(std::move(entry));
  }
  Json document;
  document["schema"] = "lockstep.runs/1";
  document["runs"] = std::move(list);
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string VersionOf(const RunInfo& run) {
  // That a complete run was analysed changes no answer about it.
  return fmt::format("{}.{:x}.{}.{}.{}.{}", run.revision, static_cast<uint64_t>(run.changed_unix_ns),
                     run.state == RunState::kOpen ? "open" : "complete", run.sources, run.complete_sources,
                     run.expected_ranks < 0 ? "x" : std::to_string(run.expected_ranks));
}

}  // namespace lockstep
