// Reads a run back: one connection, one snapshot, shared by the loaded data and its instance streams.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "aggregator/store/job_store.h"
#include "platform/sqlite.h"

namespace lockstep {

enum class RunTables : uint8_t {
  kAll = 0,
  kOfCollectives = 1,  // communicators and steps of the sources alone
};

// JobStore::LoadRest. Takes over a fresh reading connection; kNotFound when there is no such run. The result keeps its
// snapshot, and so keeps the store's log from shrinking, until it is destroyed. Its InstanceSource may be used from
// several threads.
[[nodiscard]] absl::StatusOr<LoadedRun> LoadStoredRun(Database db, const std::string& run, RunTables tables,
                                                      const HadTables& had);

// JobStore::ContentHashes. kNotFound.
[[nodiscard]] absl::StatusOr<std::map<Hash128, Hash128>> ReadContentHashes(Database& db, const std::string& run);
// The contexts of its sources alone, by source id. kNotFound.
[[nodiscard]] absl::StatusOr<std::vector<SourceContext>> LoadSourceContexts(Database& db, const std::string& run);

}  // namespace lockstep
