// The documents that the pages and the API give, made from the answers of whoever knows the runs. Thread safe as far as
// the answers are. Errors: kNotFound (no such run), kInvalidArgument (what was asked for), those of the answers.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "analysis/compare/compared_run.h"
#include "web/answers/run_answers.h"

namespace lockstep {

// "lockstep.page/1" of a run, which --format html embeds in parts.
[[nodiscard]] absl::StatusOr<std::string> RunPageJson(const RunAnswers& answers, const std::string& run);

// "lockstep.page/1" of a comparison of one or more runs a side.
[[nodiscard]] absl::StatusOr<std::string> ComparePageJson(const RunAnswers& answers,
                                                          const std::vector<std::string>& base,
                                                          const std::vector<std::string>& fresh);

// "lockstep.history/1", as `lockstep history --format json` prints it.
[[nodiscard]] absl::StatusOr<std::string> HistoryJson(const RunAnswers& answers, const std::string& metric,
                                                      const compare::RunContext& context);

// "lockstep.runs/1".
[[nodiscard]] std::string RunsJson(const std::vector<RunInfo>& runs);

// Changes whenever the answers about the run may. Letters, digits and '.'.
[[nodiscard]] std::string VersionOf(const RunInfo& run);

}  // namespace lockstep
