#include "aggregator/store/sqlite/schema.h"

#include <fmt/format.h>

#include <iterator>

#include "aggregator/store/sqlite/schema_sql.h"
#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

absl::StatusOr<int64_t> QueryInt(Database& db, std::string_view sql) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement statement, db.Prepare(sql));
  LOCKSTEP_ASSIGN_OR_RETURN(const bool row, statement.Step());
  return row ? statement.Int(0) : 0;
}

// Version of the file's schema; 0 = an empty file, to be created.
absl::StatusOr<int64_t> RecognisedVersion(Database& db) {
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t application, QueryInt(db, "PRAGMA application_id"));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t version, QueryInt(db, "PRAGMA user_version"));
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t objects, QueryInt(db, "SELECT count(*) FROM sqlite_master"));
  if (application == 0 && version == 0 && objects == 0) return 0;
  if (application != kStoreApplicationId) {
    return absl::FailedPreconditionError(fmt::format(
        "{} is a SQLite database, but no lockstep store; nothing was changed: name another file with --store",
        db.path()));
  }
  if (version < 0) {
    return absl::DataLossError(fmt::format("{} names schema {}, which there never was", db.path(), version));
  }
  if (version > kStoreSchemaVersion) {
    return absl::FailedPreconditionError(
        fmt::format("store {} has schema {} of a newer lockstep, this one knows up to {}: use the newer program, or "
                    "another --store "
                    "file",
                    db.path(), version, kStoreSchemaVersion));
  }
  return version;
}

// A file that says it has a schema and lacks what belongs to it is damaged.
absl::Status Apply(Database& db, const char* migration) {
  const absl::Status applied = db.Execute(migration);
  return absl::IsInternal(applied) ? absl::DataLossError(std::string(applied.message())) : applied;
}

absl::Status Migrate(Database& db, int64_t version) {
  LOCKSTEP_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(db));
  // Another program may have been faster.
  LOCKSTEP_ASSIGN_OR_RETURN(version, QueryInt(db, "PRAGMA user_version"));
  for (; version < kStoreSchemaVersion; ++version) {
    LOCKSTEP_RETURN_IF_ERROR(Apply(db, kStoreMigrations[version]));
  }
  LOCKSTEP_RETURN_IF_ERROR(db.Execute(fmt::format("PRAGMA application_id={}", kStoreApplicationId)));
  LOCKSTEP_RETURN_IF_ERROR(db.Execute(fmt::format("PRAGMA user_version={}", kStoreSchemaVersion)));
  return transaction.Commit();
}

// A file made by a stranger may hold anything under the names of our tables. Views and triggers are switched off for
// the connection; virtual tables would run code of their own.
absl::Status RefuseVirtualTables(Database& db) {
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t virtual_tables,
                            QueryInt(db, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND rootpage = 0"));
  if (virtual_tables == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "{} holds {} virtual tables, which no lockstep store has; nothing was changed: name another file with "
      "--store",
      db.path(), virtual_tables));
}

// Reads from every table, so that a cut or edited file is found at once.
absl::Status CheckTables(Database& db) {
  for (const std::string_view table : kStoreTables) {
    const absl::StatusOr<int64_t> probe =
        QueryInt(db, fmt::format("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT 1)", table));
    if (!probe.ok() && !absl::IsUnavailable(probe.status()) && !absl::IsResourceExhausted(probe.status())) {
      return absl::DataLossError(std::string(probe.status().message()));
    }
    LOCKSTEP_RETURN_IF_ERROR(probe.status());
  }
  return absl::OkStatus();
}

absl::StatusOr<Database> Open(const std::string& path) {
  LOCKSTEP_ASSIGN_OR_RETURN(Database db, Database::Open(path, Database::Mode::kReadWriteCreate));
  db.DisableSchemaCode();
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t version, RecognisedVersion(db));
  LOCKSTEP_RETURN_IF_ERROR(RefuseVirtualTables(db));
  // Only a file without tables takes this: later, room of dropped runs could be given back by copying everything only.
  if (version == 0) LOCKSTEP_RETURN_IF_ERROR(db.Execute("PRAGMA auto_vacuum=INCREMENTAL"));
  LOCKSTEP_RETURN_IF_ERROR(db.Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON"));
  if (version < kStoreSchemaVersion) LOCKSTEP_RETURN_IF_ERROR(Migrate(db, version));
  LOCKSTEP_RETURN_IF_ERROR(CheckTables(db));
  db.KeepStatements();
  return db;
}

}  // namespace

absl::Status ExplainStoreError(const absl::Status& status, std::string_view path) {
  const std::string message(status.message());
  switch (status.code()) {
    case absl::StatusCode::kResourceExhausted:
      return absl::ResourceExhaustedError(
          fmt::format("store {}: no room to write ({}); what was acknowledged is safe: make room, or name a file on "
                      "another disk with --store, and send again",
                      path, message));
    case absl::StatusCode::kDataLoss:
      return absl::DataLossError(fmt::format(
          "store {} is damaged ({}): move it away and send the traces again; `sqlite3 {} .recover` may save "
          "parts of it",
          path, message, path));
    case absl::StatusCode::kInvalidArgument:
      return absl::FailedPreconditionError(fmt::format(
          "{} is no lockstep store ({}); nothing was changed: name another file with --store", path, message));
    case absl::StatusCode::kUnavailable:
      return absl::UnavailableError(
          fmt::format("store {} is held by another program ({}): end that one, or try again", path, message));
    default:
      return status;
  }
}

absl::StatusOr<Database> OpenStoreForWriting(const std::string& path) {
  absl::StatusOr<Database> db = Open(path);
  if (!db.ok()) return ExplainStoreError(db.status(), path);
  return db;
}

absl::StatusOr<Database> OpenStoreForReading(const std::string& path) {
  LOCKSTEP_ASSIGN_OR_RETURN(Database db, Database::Open(path, Database::Mode::kReadWriteCreate));
  db.DisableSchemaCode();
  LOCKSTEP_RETURN_IF_ERROR(db.Execute("PRAGMA query_only=ON"));
  db.KeepStatements();
  return db;
}

}  // namespace lockstep
