#include "aggregator/store/dump/store_dump.h"

#include <fmt/format.h>

#include "aggregator/store/dump/table_dump.h"
#include "aggregator/store/sqlite/schema.h"
#include "aggregator/store/sqlite/schema_sql.h"
#include "analysis/base/status_macros.h"
#include "platform/file_system.h"

namespace lockstep {
namespace {

// An opening for writing would make the file.
absl::Status CheckThere(const std::string& path) {
  const absl::StatusOr<int64_t> bytes = FileSize(path);
  if (bytes.ok() && *bytes > 0) return absl::OkStatus();
  return absl::NotFoundError(
      fmt::format("there is no store {} to dump ({}): name the file that an aggregator writes with --store", path,
                  bytes.ok() ? "the file is empty" : std::string(bytes.status().message())));
}

absl::Status DumpTables(Database& db, const DumpSink& sink) {
  LOCKSTEP_RETURN_IF_ERROR(db.Execute("BEGIN"));
  LOCKSTEP_RETURN_IF_ERROR(sink(fmt::format("lockstep store, schema {}\n", kStoreSchemaVersion)));
  for (const std::string_view table : kStoreTables) {
    if (!HoldsContent(table)) continue;
    LOCKSTEP_RETURN_IF_ERROR(DumpTable(db, table, sink));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DumpStore(const std::string& path, const DumpSink& sink) {
  LOCKSTEP_RETURN_IF_ERROR(CheckThere(path));
  LOCKSTEP_RETURN_IF_ERROR(OpenStoreForWriting(path).status());  // recognised, migrated, whole
  LOCKSTEP_ASSIGN_OR_RETURN(Database db, OpenStoreForReading(path));
  absl::Status not_written = absl::OkStatus();
  const absl::Status dumped = DumpTables(db, [&](std::string_view text) { return not_written = sink(text); });
  return not_written.ok() ? ExplainStoreError(dumped, path) : not_written;
}

}  // namespace lockstep
