#include "aggregator/store/sqlite/run_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "aggregator/store/sqlite/binding.h"
#include "aggregator/store/sqlite/instance_reader.h"
#include "aggregator/store/sqlite/run_description.h"
#include "aggregator/store/sqlite/source_loader.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/source_extent.h"
#include "platform/executor.h"
#include "platform/mutex.h"
#include "proto/batch_codec.h"

namespace lockstep {
namespace {

// Reads the sources one after the other, because a database is of one thread at a time, each on the thread that is
// free; what was read of one is unpacked while the next are read.
class SourcesReader {
 public:
  SourcesReader(Database& db, RunTables tables, const HadTables& had, std::vector<LoadedSource>& sources,
                NamesOfRun& names)
      : db_(db), tables_(tables), had_(had), sources_(sources), names_(names) {}

  absl::Status Run() {
    constexpr size_t kMany = 16;
    std::vector<absl::Status> done(sources_.size());
    const bool pays = sources_.size() >= kMany && tables_ == RunTables::kAll;
    ThreadPool pool(pays ? 0 : 1);
    pool.ParallelFor(sources_.size(), [&](size_t) {
      auto [at, status] = ReadNext();
      if (status.ok()) status = Unpack(sources_[at]);
      done[at] = std::move(status);
    });
    for (const absl::Status& status : done) LOCKSTEP_RETURN_IF_ERROR(status);
    return absl::OkStatus();
  }

 private:
  std::pair<size_t, absl::Status> ReadNext() LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const size_t at = next_++;
    return {at, Read(sources_[at])};
  }

  absl::Status Read(LoadedSource& source) LOCKSTEP_REQUIRES(mutex_) {
    SourceLoader loader(db_, source.id);
    LOCKSTEP_RETURN_IF_ERROR(loader.Load(tables_, had_, &source));
    source.data.summary.drops.Add(DropReason::kConflictingBatch, source.conflicts);
    LOCKSTEP_ASSIGN_OR_RETURN(source.names, loader.LoadNames(names_));
    return absl::OkStatus();
  }

  Database& db_;
  const RunTables tables_;
  const HadTables& had_;
  std::vector<LoadedSource>& sources_;  // each of whoever read it
  NamesOfRun& names_;
  Mutex mutex_;  // of the database and the names as well
  size_t next_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
};

absl::StatusOr<SourceContext> DecodeContext(std::string_view bytes) {
  v1::SourceContext message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError(fmt::format("{} bytes are no source context", bytes.size()));
  }
  return ReadBack(FromProto(message));
}

absl::StatusOr<std::vector<LoadedSource>> LoadHeads(Database& db, int64_t run) {
  std::vector<LoadedSource> heads;
  LOCKSTEP_RETURN_IF_ERROR(
      ForEachRow(db, "SELECT id, conflicts, complete, instances, context FROM source WHERE run = ? ORDER BY source_id",
                 run, [&heads](const Statement& found) -> absl::Status {
                   LoadedSource& head = heads.emplace_back();
                   head.id = found.Int(0);
                   head.conflicts = found.Int(1);
                   head.data.complete = found.Int(2) != 0;
                   head.data.instance_count = found.Int(3);
                   LOCKSTEP_ASSIGN_OR_RETURN(head.data.context, DecodeContext(found.Blob(4)));
                   return absl::OkStatus();
                 }));
  return heads;
}

absl::Status LoadFileNotes(Database& db, int64_t run, std::vector<FileNote>* files) {
  LOCKSTEP_RETURN_IF_ERROR(
      ForEachRow(db, "SELECT note FROM file_note WHERE run = ?", run, [files](const Statement& found) -> absl::Status {
        v1::FileNote message;
        const std::string bytes(found.Blob(0));
        if (!message.ParseFromString(bytes)) {
          return absl::DataLossError("a file note does not parse");
        }
        LOCKSTEP_ASSIGN_OR_RETURN(FileNote note, ReadBack(FromProto(message)));
        files->push_back(std::move(note));
        return absl::OkStatus();
      }));
  std::sort(files->begin(), files->end(), NoteBefore);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::map<Hash128, Hash128>> ReadContentHashes(Database& db, const std::string& run) {
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t run_id, IdOfRun(db, run));
  std::map<Hash128, ContentHash> contents;
  LOCKSTEP_RETURN_IF_ERROR(ForEachRow(db,
                                      "SELECT source_id, hash FROM source LEFT JOIN batch ON batch.source = source.id "
                                      "WHERE run = ? ORDER BY source.id, sequence",
                                      run_id, [&contents](const Statement& row) {
                                        ContentHash& content = contents[Hash128::FromBytes(row.Blob(0))];
                                        if (!row.IsNull(1)) content.Add(Hash128::FromBytes(row.Blob(1)));
                                        return absl::OkStatus();
                                      }));
  std::map<Hash128, Hash128> finished;
  for (const auto& [id, content] : contents) finished.emplace(id, content.Finish());
  return finished;
}

absl::StatusOr<std::vector<SourceContext>> LoadSourceContexts(Database& db, const std::string& run) {
  LOCKSTEP_ASSIGN_OR_RETURN(const int64_t run_id, IdOfRun(db, run));
  std::vector<SourceContext> contexts;
  LOCKSTEP_RETURN_IF_ERROR(ForEachRow(db, "SELECT context FROM source WHERE run = ? ORDER BY source_id", run_id,
                                      [&contexts](const Statement& row) -> absl::Status {
                                        LOCKSTEP_ASSIGN_OR_RETURN(SourceContext context, DecodeContext(row.Blob(0)));
                                        contexts.push_back(std::move(context));
                                        return absl::OkStatus();
                                      }));
  return contexts;
}

absl::StatusOr<LoadedRun> LoadStoredRun(Database db, const std::string& run, RunTables tables, const HadTables& had) {
  LOCKSTEP_RETURN_IF_ERROR(db.Execute("BEGIN"));
  LOCKSTEP_ASSIGN_OR_RETURN(auto found, FindRun(db, run));
  LoadedRun loaded;
  loaded.content = found.first;
  loaded.data.info = std::move(found.second);
  LOCKSTEP_ASSIGN_OR_RETURN(std::vector<LoadedSource> sources, LoadHeads(db, found.first.run_id));
  LOCKSTEP_ASSIGN_OR_RETURN(NamesOfRun names, NamesOfRun::Load(db, found.first.run_id));
  std::vector<StoredInstances> stored;
  LOCKSTEP_RETURN_IF_ERROR(SourcesReader(db, tables, had, sources, names).Run());
  for (LoadedSource& source : sources) {
    loaded.data.sources.push_back(std::move(source.data));
    loaded.tables.push_back(source.tables);
    stored.push_back({source.id, std::move(source.names), loaded.data.sources.back().communicators.size()});
  }
  loaded.data.names = names.Take();
  LOCKSTEP_RETURN_IF_ERROR(LoadFileNotes(db, found.first.run_id, &loaded.data.files));
  loaded.instances = MakeInstanceSource(std::move(db), std::move(stored));
  return loaded;
}

}  // namespace lockstep
