// The runs that `lockstep compare` is given: folders of traces, files, or names of stored runs.
#pragma once

#include <absl/status/statusor.h>

#include <stop_token>
#include <string>
#include <vector>

#include "analysis/compare/compared_run.h"
#include "cli/run_source.h"

namespace lockstep {

struct ComparedRunsOptions {
  RunSourceFlags source;   // where runs that are named are
  std::string step_range;  // of traces that are read
  int64_t jobs = 0;
};

// `name` is a file or folder, NAME@STORE, or with a source the name of a run. `added` is context that the person gave;
// a lockstep-context.json in the folder comes before it. Errors say what `name` was taken for: kInvalidArgument where
// it is none of these, kNotFound, kFailedPrecondition (several runs in one folder), kCancelled after a stop.
[[nodiscard]] absl::StatusOr<compare::ComparedRun> ReadComparedRun(const std::string& name,
                                                                   const compare::RunContext& added,
                                                                   const ComparedRunsOptions& options,
                                                                   const std::stop_token& stop);

// "model=llama": a key and its value. kInvalidArgument.
[[nodiscard]] absl::Status AddContext(const std::string& text, compare::RunContext& context);

}  // namespace lockstep
