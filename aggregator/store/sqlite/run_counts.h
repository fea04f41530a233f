// How many sources, names and file notes a run has, kept beside it (schema 9): to count them whenever one comes would
// take the longer the more there are. One thread, within the transaction that adds them.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>

#include "platform/sqlite.h"

namespace lockstep {

enum class RunCount : uint8_t { kSources, kNames, kFiles };

[[nodiscard]] absl::StatusOr<int64_t> ReadCount(Database& db, RunCount count, int64_t run);
[[nodiscard]] absl::Status AddToCount(Database& db, RunCount count, int64_t run, int64_t more);

}  // namespace lockstep
