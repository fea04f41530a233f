// What a comparison needs of a run, asked of whoever holds it.
#pragma once

#include <absl/status/statusor.h>

#include <stop_token>
#include <string>
#include <vector>

#include "analysis/compare/compared_run.h"
#include "analysis/model/run_data.h"
#include "cli/any_run.h"

namespace lockstep {

// A run that a store or an aggregator holds, in this state: what is kept of it is used. `added` is context that wins
// over what is kept with the run. Errors: those of the question.
[[nodiscard]] absl::StatusOr<compare::ComparedRun> AskForRun(const QueryClient& client, const std::string& run,
                                                             RunState state, const compare::RunContext& added);

// Wherever it is. Errors: those of AnyRun and of the question; they name the run.
[[nodiscard]] absl::StatusOr<compare::ComparedRun> ReadComparedRun(const std::string& name,
                                                                   const compare::RunContext& added,
                                                                   const AnyRunOptions& options,
                                                                   const std::stop_token& stop);

// Other runs of the same place that have all of the context of `base`, at most kMostEarlierRuns: how much they differ
// is the noise between runs of the same code. Empty where `base` is no stored run, or where the place cannot be asked.
inline constexpr size_t kMostEarlierRuns = 20;
[[nodiscard]] std::vector<compare::ComparedRun> EarlierRunsOf(const compare::ComparedRun& base,
                                                              const std::vector<std::string>& compared,
                                                              const AnyRunOptions& options);

}  // namespace lockstep
