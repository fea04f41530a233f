// What a store says of its runs without loading them. One thread.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/store/job_store.h"
#include "analysis/model/run_data.h"
#include "platform/sqlite.h"

namespace lockstep {

// Name, state and counts of all runs, by name.
[[nodiscard]] absl::StatusOr<std::vector<RunInfo>> DescribeRuns(Database& db);
// Of one run; kNotFound.
[[nodiscard]] absl::StatusOr<int64_t> IdOfRun(Database& db, const std::string& run);
[[nodiscard]] absl::StatusOr<std::pair<RunContent, RunInfo>> FindRun(Database& db, const std::string& run);
// JobStore::ContentOf.
[[nodiscard]] absl::StatusOr<RunContent> ReadContent(Database& db, const std::string& run);
// JobStore::IsComplete.
[[nodiscard]] absl::StatusOr<bool> IsRunComplete(Database& db, const std::string& run);

}  // namespace lockstep
