// What a store keeps of the trace files that gave its runs: table `held_file` (aggregator/store/README.md). The caller
// holds the connection; WriteHeldFiles runs inside its transaction.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "aggregator/store/job_store.h"
#include "platform/sqlite.h"

namespace lockstep {

// By path; none without the run.
[[nodiscard]] absl::StatusOr<std::vector<HeldFile>> ReadHeldFiles(Database& db, const std::string& run);
absl::Status WriteHeldFiles(Database& db, int64_t run_id, const std::vector<HeldFile>& files);

}  // namespace lockstep
