// How much of a store each run takes.
#pragma once

#include <absl/status/statusor.h>

#include <vector>

#include "aggregator/store/job_store.h"
#include "platform/sqlite.h"

namespace lockstep {

// By name. The bytes of the file in use, shared out by what the rows of each run hold; reads every row's length once.
[[nodiscard]] absl::StatusOr<std::vector<RunUsage>> MeasureRuns(Database& db);

}  // namespace lockstep
