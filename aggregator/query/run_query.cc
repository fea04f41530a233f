#include "aggregator/query/run_query.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "aggregator/query/answer_key.h"
#include "analysis/base/status_macros.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/report/report.h"
#include "platform/log.h"

namespace lockstep {

namespace {

// The summary of all that was recorded needs most of what the other views show: all are made at once then, so that
// whoever looks closer has the answer waiting.
bool MakesAll(const AnalysisOptions& asked) {
  AnalysisOptions unrestricted;
  unrestricted.views = asked.views;
  const auto takes_most = [](const std::string& view) { return view == "summary" || view == "all"; };
  return asked == unrestricted && std::any_of(asked.views.begin(), asked.views.end(), takes_most);
}

std::vector<KeptAnswer> EachView(const Json& report) {
  std::vector<KeptAnswer> answers;
  for (const std::string& view : AllViews()) {
    answers.push_back({AnswerKey({.views = {view}}), RenderJson(ReportOfViews(report, {view}))});
  }
  answers.push_back({AnswerKey({.views = {"all"}}), RenderJson(report)});
  return answers;
}

// For whoever asks next. Not to keep an answer costs time, no truth.
void Keep(JobStore& store, const std::string& run, const RunContent& content, const std::vector<KeptAnswer>& answers) {
  const absl::Status kept = store.KeepAnswers(run, content, answers);
  if (!kept.ok()) LogWarning("an answer about run '{}' is not kept: {}", run, std::string(kept.message()));
}

}  // namespace

absl::StatusOr<std::string> AnswerViews(JobStore& store, const std::string& run, const AnalysisOptions& asked,
                                        Executor& executor) {
  const Hash128 key = AnswerKey(asked);
  LOCKSTEP_ASSIGN_OR_RETURN(std::optional<std::string> kept, store.FindAnswer(run, key));
  if (kept) return *std::move(kept);
  LOCKSTEP_ASSIGN_OR_RETURN(LoadedRun loaded, store.LoadRun(run));
  RunInfo& info = loaded.data.info;
  const bool complete = info.state != RunState::kOpen;
  if (complete) {
    info.state = RunState::kAnalysed;  // by this answer, so that the first one says the same as all later ones
  }
  const bool keeps = complete && loaded.content.has_value();
  const bool makes_all = keeps && MakesAll(asked);
  AnalysisOptions options = asked;
  options.expected_ranks = info.expected_ranks;
  if (makes_all) options.views = {"all"};
  LOCKSTEP_ASSIGN_OR_RETURN(Json report, BuildReport(loaded.data, *loaded.instances, options, executor));
  if (complete) LOCKSTEP_RETURN_IF_ERROR(store.MarkAnalysed(run));
  if (!keeps) return RenderJson(report);
  std::vector<KeptAnswer> answers;
  if (makes_all) {
    answers = EachView(report);
    report = ReportOfViews(report, asked.views);
  }
  std::string answer = RenderJson(report);
  answers.push_back({key, answer});
  Keep(store, run, *loaded.content, answers);
  return answer;
}

absl::Status PublishRanks(JobStore& store, const std::string& run) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<RunInfo> runs, store.ListRuns());
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const RunInfo& info) { return info.name == run; });
  if (found == runs.end() || found->state == RunState::kOpen) {
    return absl::OkStatus();
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const LoadedRun loaded, store.LoadRun(run));
  AnalysisOptions options;
  options.expected_ranks = loaded.data.info.expected_ranks;
  std::vector<std::pair<Hash128, int32_t>> ranks;
  for (const ResolvedRank& resolved : ResolveRanks(loaded.data, options).ranks) {
    ranks.emplace_back(loaded.data.sources[resolved.source].context.source_id, resolved.rank);
  }
  return store.PutRanks(run, ranks);
}

}  // namespace lockstep
