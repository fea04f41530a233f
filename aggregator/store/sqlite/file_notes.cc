#include "aggregator/store/sqlite/file_notes.h"

#include "aggregator/store/sqlite/binding.h"
#include "aggregator/store/sqlite/run_counts.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/source_extent.h"
#include "proto/context_codec.h"

namespace lockstep {
namespace {

// As whoever gave the note knows it: texts are repaired on the way.
absl::StatusOr<Hash128> IdOf(const v1::FileNote& message) {
  LOCKSTEP_ASSIGN_OR_RETURN(const FileNote note, ReadBack(FromProto(message)));
  return FileNoteId(note);
}

// What is replaced, with a note from before notes told their host (schema 1). Returns how many.
absl::StatusOr<int64_t> DropEarlier(Database& db, int64_t run_id, const v1::FileNote& message) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement drop,
                            db.Prepare("DELETE FROM file_note WHERE run = ? AND path = ? AND host IN (?, '')"));
  Binder(drop).Int(run_id).Text(message.path()).Text(message.host());
  LOCKSTEP_RETURN_IF_ERROR(drop.Run());
  return db.Changes();
}

absl::Status Insert(Database& db, int64_t run_id, const v1::FileNote& message, const std::string& bytes) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Hash128 id, IdOf(message));
  LOCKSTEP_ASSIGN_OR_RETURN(Statement put, db.Prepare("INSERT INTO file_note (run, path, host, status, reason, note, "
                                                      "note_id) VALUES (?, ?, ?, ?, ?, ?, ?)"));
  Binder binder(put);
  binder.Int(run_id).Text(message.path()).Text(message.host()).Text(message.status()).Text(message.reason());
  binder.Blob(bytes).Blob(id.Bytes());
  return put.Run();
}

}  // namespace

absl::StatusOr<bool> WriteFileNote(Database& db, const std::string& run, int64_t run_id, const FileNote& note,
                                   const StoreLimits& limits) {
  v1::FileNote message;
  ToProto(note, &message);
  const std::string bytes = message.SerializeAsString();
  LOCKSTEP_ASSIGN_OR_RETURN(Statement find,
                            db.Prepare("SELECT note FROM file_note WHERE run = ? AND path = ? AND host = ?"));
  Binder(find).Int(run_id).Text(message.path()).Text(message.host());
  LOCKSTEP_ASSIGN_OR_RETURN(const bool known, find.Step());
  if (known && find.Blob(0) == bytes) return false;
  find.Reset();
  if (!known) {
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t files, ReadCount(db, RunCount::kFiles, run_id));
    LOCKSTEP_RETURN_IF_ERROR(CheckFiles(limits, run, files + 1));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t dropped, DropEarlier(db, run_id, message));
  LOCKSTEP_RETURN_IF_ERROR(Insert(db, run_id, message, bytes));
  LOCKSTEP_RETURN_IF_ERROR(AddToCount(db, RunCount::kFiles, run_id, 1 - dropped));
  return true;
}

absl::StatusOr<bool> NoteFinder::Holds(const Hash128& id) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement find, db_.Prepare("SELECT 1 FROM file_note WHERE run = ? AND note_id = ?"));
  Binder(find).Int(run_id_).Blob(id.Bytes());
  LOCKSTEP_ASSIGN_OR_RETURN(const bool known, find.Step());
  if (known) return true;
  if (!older_) LOCKSTEP_RETURN_IF_ERROR(ReadOlder());
  return older_->contains(id);
}

absl::Status NoteFinder::ReadOlder() {
  older_.emplace();
  LOCKSTEP_ASSIGN_OR_RETURN(Statement find,
                            db_.Prepare("SELECT note FROM file_note WHERE run = ? AND note_id IS NULL"));
  Binder(find).Int(run_id_);
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool more, find.Step());
    if (!more) return absl::OkStatus();
    v1::FileNote message;
    if (!message.ParseFromString(std::string(find.Blob(0)))) return absl::DataLossError("a file note does not parse");
    LOCKSTEP_ASSIGN_OR_RETURN(const Hash128 id, IdOf(message));
    older_->insert(id);
  }
}

}  // namespace lockstep
