#include "aggregator/query/run_query.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/report/report.h"

namespace lockstep {

absl::StatusOr<std::string> AnswerViews(JobStore& store, const std::string& run, AnalysisOptions options,
                                        Executor& executor) {
  LOCKSTEP_ASSIGN_OR_RETURN(LoadedRun loaded, store.LoadRun(run));
  RunInfo& info = loaded.data.info;
  options.expected_ranks = info.expected_ranks;
  const bool complete = info.state != RunState::kOpen;
  if (complete) {
    info.state = RunState::kAnalysed;  // by this answer, so that the first one says the same as all later ones
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const Json report, BuildReport(loaded.data, *loaded.instances, options, executor));
  if (complete) {
    LOCKSTEP_RETURN_IF_ERROR(store.MarkAnalysed(run));
  }
  return RenderJson(report);
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
