// The SQLite store's file: creation, migration, and the refusal of files that are none of ours. Tables, views and
// columns are described in aggregator/store/README.md.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "platform/sqlite.h"

namespace lockstep {

// Kept in PRAGMA user_version; PRAGMA application_id tells that the file is ours at all.
inline constexpr int64_t kStoreSchemaVersion = 10;
inline constexpr int64_t kStoreApplicationId = 0x4c4b5331;  // "LKS1"

// Opens the file for writing, creating or migrating it. A database of something else, of a newer lockstep or a damaged
// one is left untouched and refused (kFailedPrecondition, kDataLoss) with the way out in the message.
[[nodiscard]] absl::StatusOr<Database> OpenStoreForWriting(const std::string& path);
// A further connection to an already opened store, for reading only.
[[nodiscard]] absl::StatusOr<Database> OpenStoreForReading(const std::string& path);

// Adds the way out to what sqlite said: full disk, damaged file, locked by another program.
[[nodiscard]] absl::Status ExplainStoreError(const absl::Status& status, std::string_view path);

}  // namespace lockstep
