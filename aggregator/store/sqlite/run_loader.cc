#include "aggregator/store/sqlite/run_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "aggregator/store/memory/run_assembly.h"
#include "aggregator/store/sqlite/binding.h"
#include "aggregator/store/sqlite/instance_reader.h"
#include "aggregator/store/sqlite/row_fields.h"
#include "aggregator/store/sqlite/run_description.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/row_values.h"
#include "analysis/model/source_extent.h"
#include "platform/executor.h"
#include "platform/mutex.h"
#include "proto/batch_codec.h"
#include "proto/step_codec.h"
#include "proto/table_codec.h"

namespace lockstep {
namespace {

// Reads the `row` blobs of a table in order of arrival.
template <typename Row>
absl::Status LoadRows(Database& db, std::string_view table, int64_t source, std::vector<Row>* rows) {
  const std::string sql = fmt::format("SELECT row FROM {} WHERE source = ? ORDER BY sequence, ordinal", table);
  return ForEachRow(db, sql, source, [rows](const Statement& found) {
    return ReadBack(DecodeRow(found.Blob(0), &rows->emplace_back()));
  });
}

StepRow ReadStep(const Statement& found) {
  StepRow row;
  row.name = static_cast<uint32_t>(IntOr(found, 0, kNoId));
  row.phase = std::string(found.Text(1));
  int column = 2;
  for (const StepField& field : kStepFields) row.*field.field = IntOr(found, column++, kNoTime);
  for (const StepMeasure& measure : kStepMeasures) {
    for (const MeasureField& field : kMeasureFields) row.*measure.member.*field.field = found.Int(column++);
  }
  return row;
}

// What most is to be unpacked of, as it is stored.
struct PackedTables {
  std::vector<std::string> kernels;
  std::vector<std::string> buckets;
  std::vector<std::string> step_kernels;
};

class SourceLoader {
 public:
  SourceLoader(Database& db, int64_t source) : db_(db), source_(source) {}

  // Loads all but what it leaves packed.
  absl::Status Load(RunTables tables, SourceData* data, PackedTables* packed) {
    LOCKSTEP_RETURN_IF_ERROR(LoadCommunicators(data));
    LOCKSTEP_RETURN_IF_ERROR(LoadSteps(data));
    if (tables == RunTables::kOfCollectives) return absl::OkStatus();
    LOCKSTEP_RETURN_IF_ERROR(LoadSingleStepKernels(data));
    LOCKSTEP_RETURN_IF_ERROR(
        LoadBlobs("SELECT columns FROM batch_step_kernels WHERE source = ? ORDER BY sequence", &packed->step_kernels));
    LOCKSTEP_RETURN_IF_ERROR(
        LoadBlobs("SELECT columns FROM bucket WHERE source = ? ORDER BY sequence", &packed->buckets));
    LOCKSTEP_RETURN_IF_ERROR(LoadBlobs("SELECT rows FROM kernel WHERE source = ? ORDER BY name", &packed->kernels));
    LOCKSTEP_RETURN_IF_ERROR(LoadRows(db_, "memory", source_, &data->memory));
    LOCKSTEP_RETURN_IF_ERROR(LoadRows(db_, "api", source_, &data->apis));
    LOCKSTEP_RETURN_IF_ERROR(LoadRows(db_, "range", source_, &data->ranges));
    LOCKSTEP_RETURN_IF_ERROR(LoadRows(db_, "launch", source_, &data->launches));
    MergeSummaries(data);
    return LoadSummary(data);
  }

  absl::StatusOr<std::vector<uint32_t>> LoadNames(RunDictionary& dictionary) {
    std::vector<uint32_t> ids;
    LOCKSTEP_RETURN_IF_ERROR(ForEachRow(db_,
                                        "SELECT name.hash, name.text FROM source_name JOIN name ON name.id = "
                                        "source_name.name WHERE source_name.source = ? ORDER BY source_name.local",
                                        source_, [&](const Statement& found) {
                                          const Hash128 hash = Hash128::FromBytes(found.Blob(0));
                                          ids.push_back(dictionary.Intern(hash, std::string(found.Text(1))));
                                          return absl::OkStatus();
                                        }));
    return ids;
  }

 private:
  absl::Status LoadCommunicators(SourceData* data) {
    return ForEachRow(db_, "SELECT definition FROM communicator WHERE source = ? ORDER BY local", source_,
                      [data](const Statement& found) {
                        return ReadBack(DecodeRow(found.Blob(0), &data->communicators.emplace_back()));
                      });
  }

  absl::Status LoadSteps(SourceData* data) {
    const std::string sql = fmt::format("SELECT name, phase, {} FROM step WHERE source = ? ORDER BY sequence, ordinal",
                                        fmt::join(StepColumnNames(), ", "));
    return ForEachRow(db_, sql, source_, [data](const Statement& found) {
      data->steps.push_back(ReadStep(found));
      return absl::OkStatus();
    });
  }

  // Those of batches that were written before schema 8: all others of the source came after them.
  absl::Status LoadSingleStepKernels(SourceData* data) {
    return ForEachRow(
        db_, "SELECT step, name, instances, total_ns FROM step_kernel WHERE source = ? ORDER BY sequence, ordinal",
        source_, [data](const Statement& found) {
          data->step_kernels.push_back(
              {IntOr(found, 0, kNoStep), static_cast<uint32_t>(found.Int(1)), found.Int(2), found.Int(3)});
          return absl::OkStatus();
        });
  }

  absl::Status LoadBlobs(std::string_view sql, std::vector<std::string>* blobs) {
    return ForEachRow(db_, sql, source_, [blobs](const Statement& found) {
      blobs->emplace_back(found.Blob(0));
      return absl::OkStatus();
    });
  }

  absl::Status LoadSummary(SourceData* data) {
    return ForEachRow(db_, "SELECT row FROM summary WHERE source = ?", source_,
                      [data](const Statement& found) { return ReadBack(DecodeRow(found.Blob(0), &data->summary)); });
  }

  Database& db_;
  const int64_t source_;
};

struct SourceHead {
  int64_t id = 0;
  int64_t conflicts = 0;
  SourceData data;
  PackedTables packed;
  std::vector<uint32_t> names;  // id of the run's dictionary by id of the stream
};

// The rows of the blobs, behind those that are there.
template <typename Row>
absl::Status UnpackAll(const std::vector<std::string>& blobs,
                       absl::StatusOr<std::vector<Row>> (*unpack)(std::string_view), std::vector<Row>* rows) {
  for (const std::string& blob : blobs) {
    LOCKSTEP_ASSIGN_OR_RETURN(std::vector<Row> more, ReadBack(unpack(blob)));
    std::move(more.begin(), more.end(), std::back_inserter(*rows));
  }
  return absl::OkStatus();
}

absl::Status UnpackHead(SourceHead& head) {
  LOCKSTEP_RETURN_IF_ERROR(UnpackAll(head.packed.buckets, &UnpackBuckets, &head.data.buckets));
  LOCKSTEP_RETURN_IF_ERROR(UnpackAll(head.packed.step_kernels, &UnpackStepKernels, &head.data.step_kernels));
  LOCKSTEP_RETURN_IF_ERROR(UnpackAll(head.packed.kernels, &UnpackKernels, &head.data.kernels));
  head.packed = {};
  return TranslateNames(head.names, &head.data);
}

// Reads the sources one after the other, because a database is of one thread at a time, each on the thread that is
// free; what was read of one is unpacked while the next are read.
class SourcesReader {
 public:
  SourcesReader(Database& db, RunTables tables, std::vector<SourceHead>& heads, RunDictionary& dictionary)
      : db_(db), tables_(tables), heads_(heads), dictionary_(dictionary) {}

  absl::Status Run() {
    constexpr size_t kMany = 16;
    std::vector<absl::Status> done(heads_.size());
    const bool pays = heads_.size() >= kMany && tables_ == RunTables::kAll;
    ThreadPool pool(pays ? 0 : 1);
    pool.ParallelFor(heads_.size(), [&](size_t) {
      auto [at, status] = ReadNext();
      if (status.ok()) status = UnpackHead(heads_[at]);
      done[at] = std::move(status);
    });
    for (const absl::Status& status : done) LOCKSTEP_RETURN_IF_ERROR(status);
    return absl::OkStatus();
  }

 private:
  std::pair<size_t, absl::Status> ReadNext() LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const size_t at = next_++;
    return {at, Read(heads_[at])};
  }

  absl::Status Read(SourceHead& head) LOCKSTEP_REQUIRES(mutex_) {
    SourceLoader loader(db_, head.id);
    LOCKSTEP_RETURN_IF_ERROR(loader.Load(tables_, &head.data, &head.packed));
    head.data.summary.drops.Add(DropReason::kConflictingBatch, head.conflicts);
    LOCKSTEP_ASSIGN_OR_RETURN(head.names, loader.LoadNames(dictionary_));
    return absl::OkStatus();
  }

  Database& db_;
  const RunTables tables_;
  std::vector<SourceHead>& heads_;  // each of whoever read it
  RunDictionary& dictionary_;
  Mutex mutex_;  // of the database and the dictionary as well
  size_t next_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
};

absl::StatusOr<SourceContext> DecodeContext(std::string_view bytes) {
  v1::SourceContext message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError(fmt::format("{} bytes are no source context", bytes.size()));
  }
  return ReadBack(FromProto(message));
}

absl::StatusOr<std::vector<SourceHead>> LoadHeads(Database& db, int64_t run) {
  std::vector<SourceHead> heads;
  LOCKSTEP_RETURN_IF_ERROR(
      ForEachRow(db, "SELECT id, conflicts, complete, instances, context FROM source WHERE run = ? ORDER BY source_id",
                 run, [&heads](const Statement& found) -> absl::Status {
                   SourceHead& head = heads.emplace_back();
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

absl::StatusOr<LoadedRun> LoadStoredRun(Database db, const std::string& run, RunTables tables) {
  LOCKSTEP_RETURN_IF_ERROR(db.Execute("BEGIN"));
  LOCKSTEP_ASSIGN_OR_RETURN(auto found, FindRun(db, run));
  LoadedRun loaded;
  loaded.content = found.first;
  loaded.data.info = std::move(found.second);
  LOCKSTEP_ASSIGN_OR_RETURN(std::vector<SourceHead> heads, LoadHeads(db, found.first.run_id));
  RunDictionary dictionary;
  std::vector<StoredInstances> stored;
  LOCKSTEP_RETURN_IF_ERROR(SourcesReader(db, tables, heads, dictionary).Run());
  for (SourceHead& head : heads) {
    loaded.data.sources.push_back(std::move(head.data));
    stored.push_back({head.id, std::move(head.names), loaded.data.sources.back().communicators.size()});
  }
  loaded.data.names = dictionary.Take();
  LOCKSTEP_RETURN_IF_ERROR(LoadFileNotes(db, found.first.run_id, &loaded.data.files));
  loaded.instances = MakeInstanceSource(std::move(db), std::move(stored));
  return loaded;
}

}  // namespace lockstep
