// The notes about the input files of a run, as they are stored. One thread, within a transaction.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "aggregator/store/memory/store_limits.h"
#include "analysis/base/hash128.h"
#include "analysis/model/run_data.h"
#include "platform/sqlite.h"

namespace lockstep {

// Replaces what was said of the file; false: that was the same.
[[nodiscard]] absl::StatusOr<bool> WriteFileNote(Database& db, const std::string& run, int64_t run_id,
                                                 const FileNote& note, const StoreLimits& limits);

// Looks for notes of a run by FileNoteId.
class NoteFinder {
 public:
  NoteFinder(Database& db, int64_t run_id) : db_(db), run_id_(run_id) {}
  [[nodiscard]] absl::StatusOr<bool> Holds(const Hash128& id);

 private:
  // Those that were written before schema 9, which have no id in their row.
  absl::Status ReadOlder();

  Database& db_;
  const int64_t run_id_;
  std::optional<std::set<Hash128>> older_;
};

}  // namespace lockstep
