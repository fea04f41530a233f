// Reads a run back: one connection, one snapshot, shared by the loaded data and its instance streams.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "aggregator/store/job_store.h"
#include "platform/sqlite.h"

namespace lockstep {

// Takes over a fresh reading connection; kNotFound when there is no such run. The result keeps its snapshot, and so
// keeps the store's log from shrinking, until it is destroyed. Its InstanceSource may be used from several threads.
[[nodiscard]] absl::StatusOr<LoadedRun> LoadStoredRun(Database db, const std::string& run);

// Name, state and counts of all runs (by name), or of one.
[[nodiscard]] absl::StatusOr<std::vector<RunInfo>> DescribeRuns(Database& db);

}  // namespace lockstep
