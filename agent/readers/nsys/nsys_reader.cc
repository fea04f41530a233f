#include "agent/readers/nsys/nsys_reader.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "agent/readers/nsys/activity_reader.h"
#include "agent/readers/nsys/api_reader.h"
#include "agent/readers/nsys/device_reader.h"
#include "agent/readers/nsys/diagnostics_reader.h"
#include "agent/readers/nsys/metadata_reader.h"
#include "agent/readers/nsys/nvtx_reader.h"
#include "agent/readers/nsys/rank_evidence.h"
#include "agent/readers/nsys/read_session.h"
#include "agent/readers/nsys/target_reader.h"
#include "analysis/base/status_macros.h"

namespace lockstep::nsys {
namespace {

// One progress tick of the database is 10,000 steps of its virtual machine. A pass takes some 20 steps a row, and a row
// takes at least 7 bytes of the file: 32 steps a byte are plenty for all passes together.
constexpr int64_t kTicksPerMebibyte = 3'400;
constexpr int64_t kSpareTicks = 1'000;

// A hostile file can link its pages so that it seems to hold rows without end; the budget ends such a read.
void LimitSteps(Database& db, int64_t file_bytes) {
  const int64_t budget = kSpareTicks + (file_bytes >> 20) * kTicksPerMebibyte;
  db.SetInterruptCheck([ticks = int64_t{0}, budget]() mutable { return ++ticks > budget; });
}

// Whoever reports a file names it: the database's own message need not.
absl::Status Unreadable(const Database& db, const absl::Status& cause) {
  std::string what(cause.message());
  const std::string path = db.path() + ": ";
  if (what.starts_with(path)) what.erase(0, path.size());
  return absl::InvalidArgumentError(
      fmt::format("cannot be read as an SQLite database: {}; export the report again", what));
}

struct OpenedCatalog {
  TableCatalog catalog;
  bool truncated = false;
};

absl::StatusOr<OpenedCatalog> LoadCatalog(Database& db) {
  absl::StatusOr<TableCatalog> catalog = TableCatalog::Load(db);
  if (catalog.ok()) return OpenedCatalog{*std::move(catalog), false};
  if (!absl::IsDataLoss(catalog.status())) {
    return absl::IsInvalidArgument(catalog.status()) ? catalog.status() : Unreadable(db, catalog.status());
  }
  db.TolerateTruncation();
  absl::StatusOr<TableCatalog> rest = TableCatalog::Load(db);
  if (!rest.ok()) return Unreadable(db, catalog.status());
  return OpenedCatalog{*std::move(rest), true};
}

void TellNewerTables(ReadSession& session) {
  for (const TableCatalog::NewerTable& newer : session.catalog().newer()) {
    if (newer.read) {
      session.AddDiagnostic(fmt::format("table {} was read as {}", newer.name, newer.known));
    } else {
      session.AddUnknownTable(newer.name);
    }
  }
}

absl::Status ReadTables(ReadSession& session) {
  GraphLaunches graphs;
  TellNewerTables(session);
  CommunicatorLog communicators;
  LOCKSTEP_RETURN_IF_ERROR(ReadMetadata(session));
  LOCKSTEP_RETURN_IF_ERROR(ReadApi(session, graphs));
  LOCKSTEP_RETURN_IF_ERROR(ReadKernels(session, graphs));
  LOCKSTEP_RETURN_IF_ERROR(ReadCopies(session, graphs));
  LOCKSTEP_RETURN_IF_ERROR(ReadGraphSpans(session));
  session.context().opaque_graph_launches = graphs.Opaque();
  LOCKSTEP_RETURN_IF_ERROR(ReadSynchronization(session));
  LOCKSTEP_RETURN_IF_ERROR(ReadAllocations(session));
  LOCKSTEP_RETURN_IF_ERROR(ReadOverhead(session));
  LOCKSTEP_RETURN_IF_ERROR(ReadNvtx(session, communicators));
  LOCKSTEP_RETURN_IF_ERROR(ReadDevices(session));
  LOCKSTEP_RETURN_IF_ERROR(ReadRankClaims(session, communicators));
  LOCKSTEP_RETURN_IF_ERROR(ReadDiagnostics(session, graphs));
  SetSessionId(session);
  return absl::OkStatus();
}

// An export that was cut off leaves its journal beside it; the read-only, lock-free way of opening ignores it.
void WarnOfJournal(const std::string& path, RecordSink& sink) {
  for (const char* suffix : {"-journal", "-wal"}) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path + suffix, error);
    if (error || size == 0) continue;
    sink.context().diagnostics.push_back(fmt::format(
        "a journal ({}) is next to the file: the export was interrupted or is still running, so rows may be missing",
        suffix));
  }
}

absl::Status CannotOpen(const std::string& path, const absl::Status& status) {
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  if (absl::IsNotFound(status) && exists && !error) {
    return absl::PermissionDeniedError(fmt::format("{}: cannot be opened for reading; check its permissions", path));
  }
  return status;
}

}  // namespace

absl::StatusOr<ReadResult> ReadNsysDatabase(Database& db, int64_t file_bytes, const ReadOptions& options,
                                            RecordSink& sink) {
  db.DistrustSchema();
  LimitSteps(db, file_bytes);
  LOCKSTEP_ASSIGN_OR_RETURN(OpenedCatalog opened, LoadCatalog(db));
  LOCKSTEP_ASSIGN_OR_RETURN(StringTable strings, StringTable::Open(db, opened.catalog, sink));
  ReadSession session(db, std::move(opened.catalog), std::move(strings), options, sink);
  if (opened.truncated) {
    session.result().outcome = ReadOutcome::kPartial;
    session.result().reason = "the database is cut off or damaged";
  }
  LOCKSTEP_RETURN_IF_ERROR(ReadTables(session));
  return session.result();
}

absl::StatusOr<ReadResult> NsysReader::Read(const std::string& path, const ReadOptions& options, RecordSink& sink) {
  absl::StatusOr<Database> db = Database::Open(path, Database::Mode::kImmutableReadOnly);
  if (!db.ok()) return CannotOpen(path, db.status());
  WarnOfJournal(path, sink);
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return ReadNsysDatabase(*db, error ? 0 : static_cast<int64_t>(bytes), options, sink);
}

}  // namespace lockstep::nsys
