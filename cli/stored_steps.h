// Which ranges mark the steps of a run that a store holds already: one name for all of it.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>

#include "aggregator/store/job_store.h"

namespace lockstep {

// The --step-range with which more files of this run are condensed: `asked`, or where none is asked for that of the
// run. kInvalidArgument when the run's sources were condensed with another one, which their steps keep.
[[nodiscard]] absl::StatusOr<std::string> StepRangeOfRun(JobStore& store, const std::string& run,
                                                         const std::string& asked);

// kInvalidArgument when no source of the run has steps that ranges of the name asked for mark.
[[nodiscard]] absl::Status CheckStepRange(JobStore& store, const std::string& run, const std::string& asked);

}  // namespace lockstep
