#include "aggregator/store/sqlite/source_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "aggregator/store/memory/run_assembly.h"
#include "aggregator/store/sqlite/binding.h"
#include "aggregator/store/sqlite/row_fields.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/row_values.h"
#include "proto/batch_codec.h"
#include "proto/step_codec.h"
#include "proto/table_codec.h"

namespace lockstep {
namespace {

// Reads the `row` blobs of a table in order of arrival, those of batches behind that one.
template <typename Row>
absl::Status LoadRows(Database& db, std::string_view table, int64_t source, int64_t behind, std::vector<Row>* rows) {
  const std::string sql =
      fmt::format("SELECT row FROM {} WHERE source = ? AND sequence > ? ORDER BY sequence, ordinal", table);
  return ForEachRow(db, sql, {source, behind}, [rows](const Statement& found) {
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

}  // namespace

absl::StatusOr<NamesOfRun> NamesOfRun::Load(Database& db, int64_t run) {
  NamesOfRun names;
  LOCKSTEP_RETURN_IF_ERROR(
      ForEachRow(db, "SELECT id, text FROM name WHERE run = ?", run, [&names](const Statement& found) {
        names.names_[found.Int(0)].text = std::string(found.Text(1));
        return absl::OkStatus();
      }));
  return names;
}

absl::StatusOr<uint32_t> NamesOfRun::NumberOf(int64_t id) {
  const auto found = names_.find(id);
  if (found == names_.end()) return absl::DataLossError("a source refers to a name that is not there");
  Name& name = found->second;
  if (name.number == kNoId) {
    name.number = static_cast<uint32_t>(texts_.size());
    texts_.push_back(std::move(name.text));
  }
  return name.number;
}

absl::Status SourceLoader::Load(RunTables tables, const HadTables& had, LoadedSource* loaded) {
  SourceData* const data = &loaded->data;
  LOCKSTEP_RETURN_IF_ERROR(FindBegin(had, loaded));
  LOCKSTEP_RETURN_IF_ERROR(LoadCommunicators(data));
  LOCKSTEP_RETURN_IF_ERROR(LoadSteps(data));
  if (tables == RunTables::kOfCollectives) return absl::OkStatus();
  LOCKSTEP_RETURN_IF_ERROR(LoadSummary(data));
  if (loaded->tables.until.number == behind_) return absl::OkStatus();  // no batch came
  PackedTables& packed = loaded->packed;
  LOCKSTEP_RETURN_IF_ERROR(LoadSingleStepKernels(data));
  LOCKSTEP_RETURN_IF_ERROR(
      LoadBlobs("SELECT columns FROM batch_step_kernels WHERE source = ? AND sequence > ? ORDER BY sequence",
                {source_, behind_}, &packed.step_kernels));
  LOCKSTEP_RETURN_IF_ERROR(LoadBlobs("SELECT columns FROM bucket WHERE source = ? AND sequence > ? ORDER BY sequence",
                                     {source_, behind_}, &packed.buckets));
  LOCKSTEP_RETURN_IF_ERROR(
      LoadBlobs("SELECT rows FROM kernel WHERE source = ? ORDER BY name", {source_}, &packed.kernels));
  LOCKSTEP_RETURN_IF_ERROR(LoadRows(db_, "memory", source_, behind_, &data->memory));
  LOCKSTEP_RETURN_IF_ERROR(LoadRows(db_, "api", source_, behind_, &data->apis));
  LOCKSTEP_RETURN_IF_ERROR(LoadRows(db_, "range", source_, behind_, &data->ranges));
  LOCKSTEP_RETURN_IF_ERROR(LoadRows(db_, "launch", source_, behind_, &data->launches));
  MergeSummaries(data);
  return absl::OkStatus();
}

absl::Status SourceLoader::FindBegin(const HadTables& had, LoadedSource* loaded) {
  LOCKSTEP_RETURN_IF_ERROR(
      ForEachRow(db_, "SELECT sequence, hash FROM batch WHERE source = ? ORDER BY sequence DESC LIMIT 1", source_,
                 [loaded](const Statement& found) {
                   loaded->tables.until = {found.Int(0), Hash128::FromBytes(found.Blob(1))};
                   return absl::OkStatus();
                 }));
  const auto position = had.find(loaded->data.context.source_id);
  if (position == had.end() || position->second.number < 0) return absl::OkStatus();
  return ForEachRow(db_, "SELECT hash FROM batch WHERE source = ? AND sequence = ?", {source_, position->second.number},
                    [&](const Statement& found) {
                      loaded->tables.is_rest = Hash128::FromBytes(found.Blob(0)) == position->second.content;
                      if (loaded->tables.is_rest) behind_ = position->second.number;
                      return absl::OkStatus();
                    });
}

absl::StatusOr<std::vector<uint32_t>> SourceLoader::LoadNames(NamesOfRun& names) {
  std::vector<uint32_t> ids;
  LOCKSTEP_RETURN_IF_ERROR(ForEachRow(db_, "SELECT name FROM source_name WHERE source = ? ORDER BY local", source_,
                                      [&](const Statement& found) -> absl::Status {
                                        LOCKSTEP_ASSIGN_OR_RETURN(const uint32_t number, names.NumberOf(found.Int(0)));
                                        ids.push_back(number);
                                        return absl::OkStatus();
                                      }));
  return ids;
}

absl::Status SourceLoader::LoadCommunicators(SourceData* data) {
  return ForEachRow(db_, "SELECT definition FROM communicator WHERE source = ? ORDER BY local", source_,
                    [data](const Statement& found) {
                      return ReadBack(DecodeRow(found.Blob(0), &data->communicators.emplace_back()));
                    });
}

absl::Status SourceLoader::LoadSteps(SourceData* data) {
  static const std::string kSql =
      fmt::format("SELECT name, phase, {} FROM step WHERE source = ? AND sequence > ? ORDER BY sequence, ordinal",
                  fmt::join(StepColumnNames(), ", "));
  return ForEachRow(db_, kSql, {source_, behind_}, [data](const Statement& found) {
    data->steps.push_back(ReadStep(found));
    return absl::OkStatus();
  });
}

// Those of batches that were written before schema 8: all others of the source came after them.
absl::Status SourceLoader::LoadSingleStepKernels(SourceData* data) {
  return ForEachRow(
      db_,
      "SELECT step, name, instances, total_ns FROM step_kernel WHERE source = ? AND sequence > ? ORDER BY sequence, "
      "ordinal",
      {source_, behind_}, [data](const Statement& found) {
        data->step_kernels.push_back(
            {IntOr(found, 0, kNoStep), static_cast<uint32_t>(found.Int(1)), found.Int(2), found.Int(3)});
        return absl::OkStatus();
      });
}

absl::Status SourceLoader::LoadBlobs(std::string_view sql, std::initializer_list<int64_t> parameters,
                                     std::vector<std::string>* blobs) {
  return ForEachRow(db_, sql, parameters, [blobs](const Statement& found) {
    blobs->emplace_back(found.Blob(0));
    return absl::OkStatus();
  });
}

absl::Status SourceLoader::LoadSummary(SourceData* data) {
  return ForEachRow(db_, "SELECT row FROM summary WHERE source = ?", source_,
                    [data](const Statement& found) { return ReadBack(DecodeRow(found.Blob(0), &data->summary)); });
}

absl::Status Unpack(LoadedSource& loaded) {
  LOCKSTEP_RETURN_IF_ERROR(UnpackAll(loaded.packed.buckets, &UnpackBuckets, &loaded.data.buckets));
  LOCKSTEP_RETURN_IF_ERROR(UnpackAll(loaded.packed.step_kernels, &UnpackStepKernels, &loaded.data.step_kernels));
  LOCKSTEP_RETURN_IF_ERROR(UnpackAll(loaded.packed.kernels, &UnpackKernels, &loaded.data.kernels));
  loaded.packed = {};
  return TranslateNames(loaded.names, &loaded.data);
}

}  // namespace lockstep
