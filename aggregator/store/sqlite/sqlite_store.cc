#include "aggregator/store/sqlite/sqlite_store.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "aggregator/store/memory/run_assembly.h"
#include "aggregator/store/sqlite/answers.h"
#include "aggregator/store/sqlite/batch_writer.h"
#include "aggregator/store/sqlite/binding.h"
#include "aggregator/store/sqlite/file_notes.h"
#include "aggregator/store/sqlite/held_files.h"
#include "aggregator/store/sqlite/run_counts.h"
#include "aggregator/store/sqlite/run_description.h"
#include "aggregator/store/sqlite/schema.h"
#include "aggregator/store/sqlite/usage.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"
#include "platform/durable_file.h"
#include "proto/batch_codec.h"
#include "proto/context_codec.h"

namespace lockstep {
namespace {

std::string ClaimsText(const std::vector<RankClaim>& claims) {
  std::string text;
  for (const RankClaim& claim : claims) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", Name(claim.source), claim.rank);
  }
  return text;
}

std::string Serialise(const SourceContext& context) {
  v1::SourceContext message;
  ToProto(context, &message);
  return message.SerializeAsString();
}

constexpr std::string_view kInsertSource =
    "INSERT INTO source (path, format, host, pid, device, claimed_rank, claims, world_size, gpu_name, gpu_uuid, "
    "pci_bus, "
    "first_start_ns, last_end_ns, kernels, collectives, kernel_time_ns, context, run, source_id) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr std::string_view kUpdateSource =
    "UPDATE source SET path = ?, format = ?, host = ?, pid = ?, device = ?, claimed_rank = ?, claims = ?, world_size = "
    "?, "
    "gpu_name = ?, gpu_uuid = ?, pci_bus = ?, first_start_ns = ?, last_end_ns = ?, kernels = ?, collectives = ?, "
    "kernel_time_ns = ?, context = ? WHERE run = ? AND source_id = ?";

using Sync = CommitSync::Sync;

// One for the commit of either of two streams whose batches come at the same pace; more would share less.
constexpr int kSyncsAtOnce = 2;

// From now on commits are written to the log and not waited for: what is returned puts the log on the disk. SQLite
// itself still waits where the log is begun anew or copied into the database.
absl::StatusOr<std::vector<Sync>> TakeOverSync(Database& db) {
  // What an earlier process left in the log may lie in the system's memory alone, and be told as durable: it is copied
  // into the database, which waits for the disk.
  LOCKSTEP_RETURN_IF_ERROR(db.Execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  std::vector<Sync> syncs;
  for (int i = 0; i < kSyncsAtOnce; ++i) {
    absl::StatusOr<DurableFile> log = DurableFile::OpenExisting(db.LogPath());
    // A file system on which SQLite does without a log: then it waits itself.
    if (absl::IsNotFound(log.status())) return std::vector<Sync>{[] { return absl::OkStatus(); }};
    LOCKSTEP_RETURN_IF_ERROR(log.status());
    LOCKSTEP_RETURN_IF_ERROR(log->Sync());  // what a reader beside us kept from being copied
    syncs.emplace_back([file = std::make_shared<DurableFile>(*std::move(log))] { return file->Sync(); });
  }
  LOCKSTEP_RETURN_IF_ERROR(db.Execute("PRAGMA synchronous=NORMAL"));
  return syncs;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path, const Clock& clock,
                                                               const StoreLimits& limits) {
  LOCKSTEP_ASSIGN_OR_RETURN(Database db, OpenStoreForWriting(path));
  LOCKSTEP_ASSIGN_OR_RETURN(std::vector<Sync> syncs, TakeOverSync(db));
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(db), path, std::move(syncs), clock, limits));
}

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::OpenWithSync(const std::string& path, Sync sync) {
  LOCKSTEP_ASSIGN_OR_RETURN(Database db, OpenStoreForWriting(path));
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(db), path, {std::move(sync)}, SystemClock(), {}));
}

absl::Status SqliteStore::LimitSize(int64_t bytes) {
  const MutexLock lock(mutex_);
  LOCKSTEP_ASSIGN_OR_RETURN(Statement page, db_.Prepare("PRAGMA page_size"));
  LOCKSTEP_ASSIGN_OR_RETURN(const bool found, page.Step());
  const int64_t page_bytes = found ? page.Int(0) : 4096;
  return db_.Execute(fmt::format("PRAGMA max_page_count={}", bytes / page_bytes));
}

template <typename Work>
absl::StatusOr<int64_t> SqliteStore::Commit(Work work) {
  const MutexLock lock(mutex_);
  const int64_t changes = db_.TotalChanges();
  const absl::Status status = [&]() LOCKSTEP_UNCHECKED_THREAD_SAFETY -> absl::Status {
    LOCKSTEP_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(db_));
    LOCKSTEP_RETURN_IF_ERROR(work());
    return transaction.Commit();
  }();
  // What the batch itself has wrong is not the file's fault.
  if (absl::IsInvalidArgument(status) || IsLimit(status)) return status;
  if (!status.ok()) return ExplainStoreError(status, path_);
  if (db_.TotalChanges() > changes) sync_.OnCommit();
  return sync_.Latest();
}

absl::Status SqliteStore::WaitFor(int64_t commit) {
  const absl::Status synced = sync_.WaitFor(commit);
  if (synced.ok()) return synced;
  return absl::InternalError(
      fmt::format("store {}: the disk does not keep what was written ({}); what was acknowledged is safe: see to the "
                  "disk, start the aggregator again, and send again",
                  path_, std::string(synced.message())));
}

template <typename Work>
absl::Status SqliteStore::InTransaction(Work work) {
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t commit, Commit(std::move(work)));
  return WaitFor(commit);
}

absl::Status SqliteStore::CheckRunCount() {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement count, db_.Prepare("SELECT count(*) FROM run"));
  LOCKSTEP_RETURN_IF_ERROR(count.Step().status());
  return CheckRuns(limits_, count.Int(0));
}

absl::Status SqliteStore::UpdateRun(std::string_view sql, const std::string& run) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement update, db_.Prepare(sql));
  Binder(update).Text(run);
  LOCKSTEP_RETURN_IF_ERROR(update.Run());
  return db_.Changes() > 0 ? absl::OkStatus() : NoSuchRun(run);
}

absl::Status SqliteStore::Touch(int64_t run_id) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement update,
                            db_.Prepare("UPDATE run SET revision = revision + 1, changed_unix_ns = ? WHERE id = ?"));
  Binder(update).Int(clock_.UnixNs()).Int(run_id);
  return update.Run();
}

absl::Status SqliteStore::OpenRun(const std::string& run, int32_t expected_ranks) {
  return InTransaction([&]() LOCKSTEP_UNCHECKED_THREAD_SAFETY -> absl::Status {
    LOCKSTEP_ASSIGN_OR_RETURN(Statement create,
                              db_.Prepare("INSERT OR IGNORE INTO run (name, changed_unix_ns) VALUES (?, ?)"));
    Binder(create).Text(run).Int(clock_.UnixNs());
    LOCKSTEP_RETURN_IF_ERROR(create.Run());
    if (db_.Changes() > 0) LOCKSTEP_RETURN_IF_ERROR(CheckRunCount());
    LOCKSTEP_ASSIGN_OR_RETURN(Statement find,
                              db_.Prepare("SELECT expected_ranks, finished_by_hand FROM run WHERE name = ?"));
    Binder(find).Text(run);
    LOCKSTEP_RETURN_IF_ERROR(find.Step().status());
    RunInfo stored;
    stored.expected_ranks = static_cast<int32_t>(IntOr(find, 0, -1));
    stored.finished_by_hand = find.Int(1) != 0;
    LOCKSTEP_RETURN_IF_ERROR(CheckExpectedRanks(run, stored, expected_ranks));
    if (expected_ranks < 0) return absl::OkStatus();
    LOCKSTEP_ASSIGN_OR_RETURN(Statement update, db_.Prepare("UPDATE run SET expected_ranks = ? WHERE name = ?"));
    Binder(update).Int(expected_ranks).Text(run);
    return update.Run();
  });
}

absl::Status SqliteStore::DropRun(const std::string& run) {
  return InTransaction([&]() LOCKSTEP_UNCHECKED_THREAD_SAFETY -> absl::Status {
    LOCKSTEP_ASSIGN_OR_RETURN(Statement drop, db_.Prepare("DELETE FROM run WHERE name = ?"));
    Binder(drop).Text(run);
    return drop.Run();
  });
}

absl::Status SqliteStore::FinishRun(const std::string& run) {
  return InTransaction([&]() LOCKSTEP_UNCHECKED_THREAD_SAFETY {
    return UpdateRun("UPDATE run SET finished_by_hand = 1 WHERE name = ?", run);
  });
}

absl::Status SqliteStore::SetBaseline(const std::string& name, const std::string& run) {
  LOCKSTEP_RETURN_IF_ERROR(CheckBaselineName(name));
  return InTransaction([&]() LOCKSTEP_UNCHECKED_THREAD_SAFETY -> absl::Status {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t run_id, IdOfRun(db_, run));
    LOCKSTEP_ASSIGN_OR_RETURN(Statement put, db_.Prepare("INSERT OR REPLACE INTO baseline (name, run) VALUES (?, ?)"));
    Binder(put).Text(name).Int(run_id);
    LOCKSTEP_RETURN_IF_ERROR(put.Run());
    LOCKSTEP_ASSIGN_OR_RETURN(Statement count, db_.Prepare("SELECT count(*) FROM baseline"));
    LOCKSTEP_RETURN_IF_ERROR(count.Step().status());
    return CheckBaselines(count.Int(0));
  });
}

absl::Status SqliteStore::RemoveBaseline(const std::string& name) {
  return InTransaction([&]() LOCKSTEP_UNCHECKED_THREAD_SAFETY -> absl::Status {
    LOCKSTEP_ASSIGN_OR_RETURN(Statement remove, db_.Prepare("DELETE FROM baseline WHERE name = ?"));
    Binder(remove).Text(name);
    LOCKSTEP_RETURN_IF_ERROR(remove.Run());
    return db_.Changes() > 0 ? absl::OkStatus() : NoSuchBaseline(name);
  });
}

absl::Status SqliteStore::MarkAnalysed(const std::string& run) {
  return InTransaction([&]() LOCKSTEP_UNCHECKED_THREAD_SAFETY {
    return UpdateRun("UPDATE run SET analysed_revision = revision WHERE name = ?", run);
  });
}

absl::StatusOr<SqliteStore::SourceRow> SqliteStore::FindSource(const std::string& run, int64_t run_id,
                                                               const Hash128& source) {
  LOCKSTEP_ASSIGN_OR_RETURN(
      Statement find, db_.Prepare("SELECT id, next_sequence, names, communicators, instances, last_start_ns, complete "
                                  "FROM source WHERE run = ? AND source_id = ?"));
  Binder(find).Int(run_id).Blob(source.Bytes());
  LOCKSTEP_ASSIGN_OR_RETURN(const bool known, find.Step());
  if (!known) return NoSuchSource(run, source);
  SourceRow row;
  row.id = find.Int(0);
  row.stream = {find.Int(1), find.Int(2), find.Int(3), find.Int(4), IntOr(find, 5, INT64_MIN), find.Int(6) != 0};
  return row;
}

absl::StatusOr<SourceContext> SqliteStore::ReadContext(int64_t source) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement find, db_.Prepare("SELECT context FROM source WHERE id = ?"));
  Binder(find).Int(source);
  LOCKSTEP_RETURN_IF_ERROR(find.Step().status());
  v1::SourceContext message;
  const std::string bytes(find.Blob(0));
  if (!message.ParseFromString(bytes)) return absl::DataLossError("a source context does not parse");
  return ReadBack(FromProto(message));
}

absl::Status SqliteStore::WriteContext(int64_t run_id, const SourceContext& context, bool is_new) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement put, db_.Prepare(is_new ? kInsertSource : kUpdateSource));
  Binder(put)
      .Text(context.path)
      .Text(context.format)
      .OptionalText(context.host)
      .OptionalInt(context.pid, -1)
      .OptionalInt(context.device, -1)
      .OptionalInt(context.claims.empty() ? -1 : context.claims.front().rank, -1)
      .Text(ClaimsText(context.claims))
      .OptionalInt(context.world_size.value_or(-1), -1)
      .OptionalText(context.gpu.name)
      .OptionalText(context.gpu.uuid)
      .OptionalText(context.gpu.pci_bus)
      .Int(context.first_start_ns)
      .Int(context.last_end_ns)
      .Int(context.kernels)
      .Int(context.collectives)
      .Int(context.kernel_time_ns)
      .Blob(Serialise(context))
      .Int(run_id)
      .Blob(context.source_id.Bytes());
  LOCKSTEP_RETURN_IF_ERROR(put.Run());
  return Touch(run_id);
}

absl::StatusOr<StoredSource> SqliteStore::PutSource(const std::string& run, const SourceContext& context) {
  StoredSource stored;
  stored.source_id = context.source_id;
  const auto put = [&]() LOCKSTEP_UNCHECKED_THREAD_SAFETY -> absl::Status {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t run_id, IdOfRun(db_, run));
    const absl::StatusOr<SourceRow> row = FindSource(run, run_id, context.source_id);
    if (absl::IsNotFound(row.status())) {
      LOCKSTEP_ASSIGN_OR_RETURN(const int64_t sources, ReadCount(db_, RunCount::kSources, run_id));
      LOCKSTEP_RETURN_IF_ERROR(CheckSources(limits_, run, sources + 1));
      LOCKSTEP_RETURN_IF_ERROR(AddToCount(db_, RunCount::kSources, run_id, 1));
      return WriteContext(run_id, context, true);
    }
    LOCKSTEP_RETURN_IF_ERROR(row.status());
    stored.last_sequence = row->stream.next_sequence - 1;
    stored.complete = row->stream.complete;
    LOCKSTEP_ASSIGN_OR_RETURN(const SourceContext known, ReadContext(row->id));
    return MustReplace(known, context) ? WriteContext(run_id, context, false) : absl::OkStatus();
  };
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t commit, Commit(put));
  // A source alone is nothing to keep: its first batch takes it along.
  if (stored.last_sequence >= 0) LOCKSTEP_RETURN_IF_ERROR(WaitFor(commit));
  return stored;
}

absl::Status SqliteStore::WriteStream(int64_t source, const StreamState& stream) {
  LOCKSTEP_ASSIGN_OR_RETURN(
      Statement update, db_.Prepare("UPDATE source SET next_sequence = ?, names = ?, communicators = ?, instances = ?, "
                                    "last_start_ns = ?, complete = ? WHERE id = ?"));
  Binder(update)
      .Int(stream.next_sequence)
      .Int(stream.names)
      .Int(stream.communicators)
      .Int(stream.instances)
      .OptionalInt(stream.last_start_ns, INT64_MIN)
      .Int(stream.complete ? 1 : 0)
      .Int(source);
  return update.Run();
}

absl::Status SqliteStore::CompareStored(int64_t run_id, const SourceRow& source, const Hash128& source_id,
                                        const Hash128& hash, int64_t sequence, absl::Status* conflict) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement find, db_.Prepare("SELECT hash FROM batch WHERE source = ? AND sequence = ?"));
  Binder(find).Int(source.id).Int(sequence);
  LOCKSTEP_ASSIGN_OR_RETURN(const bool known, find.Step());
  if (!known) return absl::DataLossError(fmt::format("batch {} of source {} is missing", sequence, source_id.Hex()));
  const Hash128 stored = Hash128::FromBytes(find.Blob(0));
  if (stored == hash) return absl::OkStatus();
  *conflict = ConflictingBatch(source_id, sequence, stored, hash);
  LOCKSTEP_ASSIGN_OR_RETURN(Statement count, db_.Prepare("UPDATE source SET conflicts = conflicts + 1 WHERE id = ?"));
  Binder(count).Int(source.id);
  LOCKSTEP_RETURN_IF_ERROR(count.Run());
  return Touch(run_id);
}

absl::Status SqliteStore::PutBatch(const std::string& run, const Hash128& source_id, const Hash128& hash,
                                   const ReceivedBatch& received) {
  const Batch& batch = received.batch;
  const BatchToWrite to_write = {hash, received};
  absl::Status conflict = absl::OkStatus();
  const absl::Status status = InTransaction([&]() LOCKSTEP_UNCHECKED_THREAD_SAFETY -> absl::Status {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t run_id, IdOfRun(db_, run));
    LOCKSTEP_ASSIGN_OR_RETURN(const SourceRow source, FindSource(run, run_id, source_id));
    if (batch.sequence >= 0 && batch.sequence < source.stream.next_sequence) {
      return CompareStored(run_id, source, source_id, hash, batch.sequence, &conflict);
    }
    if (batch.sequence != source.stream.next_sequence) {
      return SequenceHole(source_id, batch.sequence, source.stream.next_sequence);
    }
    LOCKSTEP_RETURN_IF_ERROR(CheckBatch(source.stream, received));
    LOCKSTEP_RETURN_IF_ERROR(BatchWriter(db_, run_id, source.id).Write(to_write));
    if (!batch.names.empty()) {
      LOCKSTEP_ASSIGN_OR_RETURN(const int64_t names, ReadCount(db_, RunCount::kNames, run_id));
      LOCKSTEP_RETURN_IF_ERROR(CheckNames(limits_, run, names));
    }
    LOCKSTEP_RETURN_IF_ERROR(WriteStream(source.id, After(source.stream, received)));
    return Touch(run_id);
  });
  return status.ok() ? conflict : status;
}

absl::Status SqliteStore::PutFileNote(const std::string& run, const FileNote& note) {
  return InTransaction([&]() LOCKSTEP_UNCHECKED_THREAD_SAFETY -> absl::Status {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t run_id, IdOfRun(db_, run));
    LOCKSTEP_ASSIGN_OR_RETURN(const bool changed, WriteFileNote(db_, run, run_id, note, limits_));
    return changed ? Touch(run_id) : absl::OkStatus();
  });
}

absl::StatusOr<std::vector<Hash128>> SqliteStore::Lacking(const std::string& run,
                                                          const std::vector<SourceExtent>& extents) {
  std::vector<Hash128> lacking;
  const absl::Status status = InTransaction([&]() LOCKSTEP_UNCHECKED_THREAD_SAFETY -> absl::Status {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t run_id, IdOfRun(db_, run));
    NoteFinder notes(db_, run_id);
    for (const SourceExtent& extent : extents) {
      const absl::StatusOr<SourceRow> row = FindSource(run, run_id, extent.id);
      if (!row.ok() && !absl::IsNotFound(row.status())) return row.status();
      LOCKSTEP_ASSIGN_OR_RETURN(const bool there, row.ok() ? Covers(row->stream, extent) : notes.Holds(extent.id));
      if (!there) lacking.push_back(extent.id);
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return lacking;
}

absl::Status SqliteStore::PutRanks(const std::string& run, const std::vector<std::pair<Hash128, int32_t>>& ranks) {
  return InTransaction([&]() LOCKSTEP_UNCHECKED_THREAD_SAFETY -> absl::Status {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t run_id, IdOfRun(db_, run));
    LOCKSTEP_ASSIGN_OR_RETURN(Statement update,
                              db_.Prepare("UPDATE source SET rank = ? WHERE run = ? AND source_id = ?"));
    for (const auto& [source, rank] : ranks) {
      Binder(update).Int(rank).Int(run_id).Blob(source.Bytes());
      LOCKSTEP_RETURN_IF_ERROR(update.Run());
      if (db_.Changes() == 0) return NoSuchSource(run, source);
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<RunInfo>> SqliteStore::ListRuns() {
  const MutexLock lock(mutex_);
  absl::StatusOr<std::vector<RunInfo>> infos = DescribeRuns(db_);
  if (!infos.ok()) return ExplainStoreError(infos.status(), path_);
  return infos;
}

absl::StatusOr<bool> SqliteStore::IsComplete(const std::string& run) {
  const MutexLock lock(mutex_);
  const absl::StatusOr<bool> complete = IsRunComplete(db_, run);
  if (!complete.ok()) return ExplainStoreError(complete.status(), path_);
  return complete;
}

absl::StatusOr<RunContent> SqliteStore::ContentOf(const std::string& run) {
  const MutexLock lock(mutex_);
  const absl::StatusOr<RunContent> content = ReadContent(db_, run);
  if (!content.ok()) return ExplainStoreError(content.status(), path_);
  return content;
}

absl::StatusOr<std::optional<std::string>> SqliteStore::FindAnswer(const std::string& run, const Hash128& key) {
  const auto read = [&]() -> absl::StatusOr<std::optional<std::string>> {
    const MutexLock lock(mutex_);
    return ReadAnswer(db_, run, key);
  };
  absl::StatusOr<std::optional<std::string>> found = read();
  if (!found.ok()) return ExplainStoreError(found.status(), path_);
  if (!found->has_value()) return std::nullopt;
  return UnpackAnswer(**found);
}

absl::Status SqliteStore::KeepAnswers(const std::string& run, const RunContent& content,
                                      const std::vector<KeptAnswer>& answers) {
  const std::vector<PackedAnswer> packed = PackAnswers(answers);
  return InTransaction([&]() LOCKSTEP_UNCHECKED_THREAD_SAFETY { return WriteAnswers(db_, run, content, packed); });
}

absl::StatusOr<std::vector<HeldFile>> SqliteStore::HeldFiles(const std::string& run) {
  const MutexLock lock(mutex_);
  absl::StatusOr<std::vector<HeldFile>> files = ReadHeldFiles(db_, run);
  if (!files.ok()) return ExplainStoreError(files.status(), path_);
  return files;
}

absl::Status SqliteStore::KeepHeldFiles(const std::string& run, const std::vector<HeldFile>& files) {
  const auto write = [&]() LOCKSTEP_UNCHECKED_THREAD_SAFETY -> absl::Status {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t run_id, IdOfRun(db_, run));
    return WriteHeldFiles(db_, run_id, files);
  };
  return Commit(write).status();
}

absl::StatusOr<std::map<Hash128, Hash128>> SqliteStore::ContentHashes(const std::string& run) {
  LOCKSTEP_ASSIGN_OR_RETURN(Database db, OpenStoreForReading(path_));
  absl::StatusOr<std::map<Hash128, Hash128>> contents = ReadContentHashes(db, run);
  if (!contents.ok()) return ExplainStoreError(contents.status(), path_);
  return contents;
}

absl::StatusOr<std::vector<SourceContext>> SqliteStore::LoadContexts(const std::string& run) {
  LOCKSTEP_ASSIGN_OR_RETURN(Database db, OpenStoreForReading(path_));
  absl::StatusOr<std::vector<SourceContext>> contexts = LoadSourceContexts(db, run);
  if (!contexts.ok()) return ExplainStoreError(contexts.status(), path_);
  return contexts;
}

absl::StatusOr<std::vector<RunUsage>> SqliteStore::Usage() {
  LOCKSTEP_ASSIGN_OR_RETURN(Database db, OpenStoreForReading(path_));
  absl::StatusOr<std::vector<RunUsage>> usage = MeasureRuns(db);
  if (!usage.ok()) return ExplainStoreError(usage.status(), path_);
  return usage;
}

absl::Status SqliteStore::Reclaim() {
  const MutexLock lock(mutex_);
  return ExplainStoreError(db_.Execute("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)"), path_);
}

absl::StatusOr<LoadedRun> SqliteStore::LoadRun(const std::string& run) { return Load(run, RunTables::kAll, {}); }

absl::StatusOr<LoadedRun> SqliteStore::LoadCollectives(const std::string& run) {
  return Load(run, RunTables::kOfCollectives, {});
}

absl::StatusOr<LoadedRun> SqliteStore::LoadRest(const std::string& run, const HadTables& had) {
  return Load(run, RunTables::kAll, had);
}

absl::StatusOr<LoadedRun> SqliteStore::Load(const std::string& run, RunTables tables, const HadTables& had) {
  LOCKSTEP_ASSIGN_OR_RETURN(Database db, OpenStoreForReading(path_));
  absl::StatusOr<LoadedRun> loaded = LoadStoredRun(std::move(db), run, tables, had);
  if (!loaded.ok()) return ExplainStoreError(loaded.status(), path_);
  return loaded;
}

}  // namespace lockstep
