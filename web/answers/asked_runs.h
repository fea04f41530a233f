// What comparisons and histories need of runs, asked of whoever knows them. Thread safe as far as the answers are.
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "analysis/compare/compared_run.h"
#include "analysis/compare/history.h"
#include "analysis/model/run_data.h"
#include "web/answers/run_answers.h"

namespace lockstep {

// A report as a tree. kDataLoss: the answer is no document that this release reads.
[[nodiscard]] absl::StatusOr<Json> AskForViews(const RunAnswers& answers, const std::string& run,
                                               const AnalysisOptions& options);

// A run in this state: what is kept of an analysed one is used. `added` is context that wins over what is kept with the
// run. Errors: those of the question.
[[nodiscard]] absl::StatusOr<compare::ComparedRun> AskForRun(const RunAnswers& answers, const std::string& run,
                                                             RunState state, const compare::RunContext& added);
using AskRun = std::function<absl::StatusOr<compare::ComparedRun>(const std::string& run, RunState state)>;

// Other analysed runs that have all of the context of `base`, at most kMostEarlierRuns: how much they differ is the
// noise between runs of the same code. Empty where nobody can be asked.
inline constexpr size_t kMostEarlierRuns = 20;
[[nodiscard]] std::vector<compare::ComparedRun> EarlierRunsAmong(const RunAnswers& answers,
                                                                 const compare::ComparedRun& base,
                                                                 const std::vector<std::string>& compared,
                                                                 const AskRun& ask);

// Runs are read one after the other; those at a change twice, so that memory is that of two. `history` has no run yet.
[[nodiscard]] absl::StatusOr<report::History> FollowRuns(const RunAnswers& answers, compare::HistoryOfRuns history,
                                                         const AskRun& ask);

}  // namespace lockstep
