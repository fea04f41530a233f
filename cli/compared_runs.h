// What a comparison needs of a run, asked of whoever holds it.
#pragma once

#include <absl/status/statusor.h>

#include <stop_token>
#include <string>
#include <vector>

#include "analysis/compare/compared_run.h"
#include "cli/any_run.h"
#include "web/answers/asked_runs.h"

namespace lockstep {

// AskForRun without added context, with a line on the terminal that says who is waited for. `answers` outlives it.
[[nodiscard]] AskRun AskWaiting(const RunAnswers& answers);

// Wherever it is. Errors: those of AnyRun and of the question; they name the run.
[[nodiscard]] absl::StatusOr<compare::ComparedRun> ReadComparedRun(const std::string& name,
                                                                   const compare::RunContext& added,
                                                                   const AnyRunOptions& options,
                                                                   const std::stop_token& stop);

// EarlierRunsAmong the runs of the place; empty where `base` is no stored run, or where the place cannot be asked.
[[nodiscard]] std::vector<compare::ComparedRun> EarlierRunsOf(const compare::ComparedRun& base,
                                                              const std::vector<std::string>& compared,
                                                              const AnyRunOptions& options);

}  // namespace lockstep
