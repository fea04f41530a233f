#include "aggregator/store/sqlite/batch_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/store/memory/run_assembly.h"
#include "aggregator/store/sqlite/binding.h"
#include "aggregator/store/sqlite/row_fields.h"
#include "aggregator/store/sqlite/run_counts.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"
#include "analysis/model/row_values.h"
#include "proto/batch_codec.h"
#include "proto/column_codec.h"
#include "proto/instance_codec.h"
#include "proto/step_codec.h"
#include "proto/table_codec.h"

namespace lockstep {
namespace {

std::string EncodeSketch(const Sketch& sketch) {
  std::string bytes;
  sketch.EncodeTo(bytes);
  return bytes;
}

std::string JoinMembers(const std::vector<int32_t>& members) { return fmt::format("{}", fmt::join(members, " ")); }

std::string DropsText(const DropCounters& drops) {
  std::string text;
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    if (drops.count[i] == 0) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", kDropReasonNames[i], drops.count[i]);
  }
  return text;
}

std::string InsertStepSql() {
  const std::vector<std::string> names = StepColumnNames();
  std::string marks;
  for (size_t i = 0; i < names.size(); ++i) marks += ", ?";
  return fmt::format("INSERT INTO step (source, sequence, ordinal, name, phase, {}) VALUES (?, ?, ?, ?, ?{})",
                     fmt::join(names, ", "), marks);
}

void BindStep(const StepRow& row, Binder& bind) {
  bind.OptionalInt(row.name, kNoId).OptionalText(row.phase);
  for (const StepField& field : kStepFields) bind.OptionalInt(row.*field.field, kNoTime);
  for (const StepMeasure& measure : kStepMeasures) {
    for (const MeasureField& field : kMeasureFields) bind.Int(row.*measure.member.*field.field);
  }
}

}  // namespace

BatchToWrite::BatchToWrite(const Hash128& content_hash, const ReceivedBatch& received_batch)
    : hash(content_hash), received(received_batch) {
  if (!received.packed.empty()) return;
  packed_rows = PackedInstancesOf(received);
  ops_of_rows = CollectiveOpsOf(received.batch.instances);
}

absl::Status BatchWriter::Write(const BatchToWrite& to_write) {
  const Batch& batch = to_write.received.batch;
  LOCKSTEP_RETURN_IF_ERROR(WriteNames(batch));
  LOCKSTEP_RETURN_IF_ERROR(WriteCommunicators(batch));
  LOCKSTEP_RETURN_IF_ERROR(WriteInstances(to_write));
  LOCKSTEP_RETURN_IF_ERROR(WriteCollectiveOps(to_write));
  LOCKSTEP_RETURN_IF_ERROR(WriteKernels(batch));
  LOCKSTEP_RETURN_IF_ERROR(WriteSteps(batch));
  LOCKSTEP_RETURN_IF_ERROR(WriteStepKernels(batch));
  LOCKSTEP_RETURN_IF_ERROR(WriteBuckets(batch));
  LOCKSTEP_RETURN_IF_ERROR(WriteMemory(batch));
  LOCKSTEP_RETURN_IF_ERROR(WriteApis(batch));
  LOCKSTEP_RETURN_IF_ERROR(WriteRanges(batch));
  LOCKSTEP_RETURN_IF_ERROR(WriteLaunches(batch));
  return WriteSummary(batch);
}

absl::Status BatchWriter::WriteNames(const Batch& batch) {
  if (batch.names.empty()) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(Statement define,
                            db_.Prepare("INSERT OR IGNORE INTO name (run, hash, text) VALUES (?, ?, ?)"));
  LOCKSTEP_ASSIGN_OR_RETURN(Statement map, db_.Prepare("INSERT INTO source_name (source, local, name) SELECT ?, ?, id "
                                                       "FROM name WHERE run = ? AND hash = ?"));
  int64_t fresh = 0;
  for (const NameDef& name : batch.names) {
    Binder(define).Int(run_).Blob(name.hash.Bytes()).Text(name.text);
    LOCKSTEP_RETURN_IF_ERROR(define.Run());
    fresh += db_.Changes();
    Binder(map).Int(source_).Int(name.id).Int(run_).Blob(name.hash.Bytes());
    LOCKSTEP_RETURN_IF_ERROR(map.Run());
  }
  return AddToCount(db_, RunCount::kNames, run_, fresh);
}

absl::Status BatchWriter::WriteCommunicators(const Batch& batch) {
  if (batch.communicators.empty()) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(Statement insert,
                            db_.Prepare("INSERT INTO communicator (source, local, group_name, group_desc, "
                                        "members, size, own_rank, comm_hash, definition) "
                                        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  for (const LocalCommunicator& row : batch.communicators) {
    Binder(insert)
        .Int(source_)
        .Int(row.id)
        .OptionalText(row.group_name)
        .OptionalText(row.group_desc)
        .OptionalText(JoinMembers(row.members))
        .OptionalInt(row.size, -1)
        .OptionalInt(row.own_rank, -1)
        .OptionalText(row.comm_hash == 0 ? "" : fmt::format("{:016x}", row.comm_hash))
        .Blob(EncodeRow(row));
    LOCKSTEP_RETURN_IF_ERROR(insert.Run());
  }
  return absl::OkStatus();
}

absl::Status BatchWriter::WriteInstances(const BatchToWrite& to_write) {
  const int64_t sequence = to_write.received.batch.sequence;
  LOCKSTEP_ASSIGN_OR_RETURN(
      Statement note,
      db_.Prepare("INSERT INTO batch (source, sequence, hash, instances, instance_bytes) VALUES (?, ?, ?, ?, ?)"));
  Binder(note)
      .Int(source_)
      .Int(sequence)
      .Blob(to_write.hash.Bytes())
      .Int(to_write.received.instances.count)
      .Int(static_cast<int64_t>(to_write.packed().size()));
  LOCKSTEP_RETURN_IF_ERROR(note.Run());
  if (to_write.packed().empty()) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(Statement insert,
                            db_.Prepare("INSERT INTO batch_instances (source, sequence, block) VALUES (?, ?, ?)"));
  Binder(insert).Int(source_).Int(sequence).Blob(to_write.packed());
  return insert.Run();
}

absl::Status BatchWriter::WriteCollectiveOps(const BatchToWrite& to_write) {
  if (to_write.ops().empty()) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(Statement find, db_.Prepare("SELECT duration_ns FROM collective_op WHERE source = ? AND "
                                                        "communicator = ? AND op = ? AND dtype = ? AND bytes = ? AND "
                                                        "library = ?"));
  LOCKSTEP_ASSIGN_OR_RETURN(
      Statement put,
      db_.Prepare("INSERT OR REPLACE INTO collective_op (source, communicator, op, dtype, bytes, library, "
                  "instances, total_ns, min_ns, max_ns, duration_ns) "
                  "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  for (const CollectiveOpRow& row : to_write.ops()) {
    const auto bind_key = [this, &key = row.key](Statement& statement) {
      return Binder(statement)
          .Int(source_)
          .Int(key.communicator)
          .Text(Name(key.op))
          .Text(Name(key.dtype))
          .Int(key.bytes)
          .Text(Name(key.library));
    };
    bind_key(find);
    LOCKSTEP_ASSIGN_OR_RETURN(const bool known, find.Step());
    Sketch sketch = row.duration;
    if (known) {
      LOCKSTEP_ASSIGN_OR_RETURN(const Sketch stored, ReadBack(codec::GetSketch("collective_op", find.Blob(0))));
      sketch.Merge(stored);
    }
    find.Reset();
    bind_key(put).Int(sketch.count()).Int(sketch.sum()).Int(sketch.min()).Int(sketch.max()).Blob(EncodeSketch(sketch));
    LOCKSTEP_RETURN_IF_ERROR(put.Run());
  }
  return absl::OkStatus();
}

absl::Status BatchWriter::WriteKernels(const Batch& batch) {
  std::map<uint32_t, std::vector<KernelRow>> by_name;
  for (const KernelRow& row : batch.kernels) by_name[row.name].push_back(row);
  for (auto& [name, rows] : by_name) LOCKSTEP_RETURN_IF_ERROR(WriteKernel(std::move(rows)));
  return absl::OkStatus();
}

absl::Status BatchWriter::WriteKernel(std::vector<KernelRow> rows) {
  const uint32_t name = rows.front().name;
  LOCKSTEP_ASSIGN_OR_RETURN(Statement find, db_.Prepare("SELECT rows FROM kernel WHERE source = ? AND name = ?"));
  Binder(find).Int(source_).Int(name);
  LOCKSTEP_ASSIGN_OR_RETURN(const bool known, find.Step());
  if (known) {
    LOCKSTEP_ASSIGN_OR_RETURN(std::vector<KernelRow> merged, ReadBack(UnpackKernels(find.Blob(0))));
    std::move(rows.begin(), rows.end(), std::back_inserter(merged));
    rows = std::move(merged);
  }
  rows = MergeKernels(std::move(rows));
  Sketch whole;
  for (const KernelRow& row : rows) whole.Merge(WholeDistribution(row));
  const KernelClass& kind = rows.front().kind;
  LOCKSTEP_ASSIGN_OR_RETURN(
      Statement put,
      db_.Prepare("INSERT OR REPLACE INTO kernel (source, name, category, family, library, op, instances, "
                  "total_ns, min_ns, max_ns, sum_of_squares, duration_ns, rows) "
                  "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  Binder(put)
      .Int(source_)
      .Int(name)
      .Text(Name(kind.category))
      .Text(Name(kind.family))
      .OptionalText(Name(kind.library))
      .OptionalText(Name(kind.op))
      .Int(whole.count())
      .Int(whole.sum())
      .Int(whole.min())
      .Int(whole.max())
      .Text(fmt::format("{}", whole.sum_of_squares()))
      .Blob(EncodeSketch(whole))
      .Blob(PackKernels(rows));
  return put.Run();
}

absl::Status BatchWriter::WriteSteps(const Batch& batch) {
  if (batch.steps.empty()) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(Statement insert, db_.Prepare(InsertStepSql()));
  int64_t ordinal = 0;
  for (const StepRow& row : batch.steps) {
    Binder bind(insert);
    bind.Int(source_).Int(batch.sequence).Int(ordinal++);
    BindStep(row, bind);
    LOCKSTEP_RETURN_IF_ERROR(insert.Run());
  }
  return absl::OkStatus();
}

absl::Status BatchWriter::WriteStepKernels(const Batch& batch) {
  if (batch.step_kernels.empty()) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(Statement insert,
                            db_.Prepare("INSERT INTO batch_step_kernels (source, sequence, columns) VALUES (?, ?, ?)"));
  Binder(insert).Int(source_).Int(batch.sequence);
  insert.BindBlob(3, PackStepKernels(batch.step_kernels));
  return insert.Run();
}

absl::Status BatchWriter::WriteBuckets(const Batch& batch) {
  if (batch.buckets.empty()) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(Statement insert,
                            db_.Prepare("INSERT INTO bucket (source, sequence, count, columns) VALUES (?, ?, ?, ?)"));
  Binder(insert).Int(source_).Int(batch.sequence).Int(static_cast<int64_t>(batch.buckets.size()));
  insert.BindBlob(4, PackBuckets(batch.buckets));
  return insert.Run();
}

absl::Status BatchWriter::WriteMemory(const Batch& batch) {
  if (batch.memory.empty()) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(
      Statement insert, db_.Prepare("INSERT INTO memory (source, sequence, ordinal, is_memset, copy_kind, operations, "
                                    "total_ns, total_bytes, row) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  int64_t ordinal = 0;
  for (const MemoryRow& row : batch.memory) {
    Binder(insert)
        .Int(source_)
        .Int(batch.sequence)
        .Int(ordinal++)
        .Int(row.is_memset ? 1 : 0)
        .Int(static_cast<int64_t>(row.kind))
        .Int(row.duration.count())
        .Int(row.duration.sum())
        .Int(row.bytes.sum())
        .Blob(EncodeRow(row));
    LOCKSTEP_RETURN_IF_ERROR(insert.Run());
  }
  return absl::OkStatus();
}

absl::Status BatchWriter::WriteApis(const Batch& batch) {
  if (batch.apis.empty()) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(Statement insert, db_.Prepare("INSERT INTO api (source, sequence, ordinal, name, calls, "
                                                          "total_ns, row) VALUES (?, ?, ?, ?, ?, ?, ?)"));
  int64_t ordinal = 0;
  for (const ApiRow& row : batch.apis) {
    Binder(insert)
        .Int(source_)
        .Int(batch.sequence)
        .Int(ordinal++)
        .Int(row.name)
        .Int(row.duration.count())
        .Int(row.duration.sum())
        .Blob(EncodeRow(row));
    LOCKSTEP_RETURN_IF_ERROR(insert.Run());
  }
  return absl::OkStatus();
}

absl::Status BatchWriter::WriteRanges(const Batch& batch) {
  if (batch.ranges.empty()) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(Statement insert, db_.Prepare("INSERT INTO range (source, sequence, ordinal, name, domain, "
                                                          "instances, total_ns, row) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  int64_t ordinal = 0;
  for (const RangeRow& row : batch.ranges) {
    Binder(insert)
        .Int(source_)
        .Int(batch.sequence)
        .Int(ordinal++)
        .Int(row.name)
        .OptionalInt(row.domain, kNoId)
        .Int(row.duration.count())
        .Int(row.duration.sum())
        .Blob(EncodeRow(row));
    LOCKSTEP_RETURN_IF_ERROR(insert.Run());
  }
  return absl::OkStatus();
}

absl::Status BatchWriter::WriteLaunches(const Batch& batch) {
  if (batch.launches.empty()) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(Statement insert, db_.Prepare("INSERT INTO launch (source, sequence, ordinal, api, kernel, "
                                                          "instances, total_ns, row) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  int64_t ordinal = 0;
  for (const LaunchRow& row : batch.launches) {
    Binder(insert)
        .Int(source_)
        .Int(batch.sequence)
        .Int(ordinal++)
        .Int(row.api)
        .Int(row.kernel)
        .Int(row.total.count())
        .Int(row.total.sum())
        .Blob(EncodeRow(row));
    LOCKSTEP_RETURN_IF_ERROR(insert.Run());
  }
  return absl::OkStatus();
}

absl::Status BatchWriter::WriteSummary(const Batch& batch) {
  if (!batch.summary.has_value()) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(Statement put, db_.Prepare("INSERT OR REPLACE INTO summary (source, drops, "
                                                       "allocation_peak_bytes, row) VALUES (?, ?, ?, ?)"));
  Binder(put)
      .Int(source_)
      .Text(DropsText(batch.summary->drops))
      .OptionalInt(batch.summary->allocation_peak_bytes, -1)
      .Blob(EncodeRow(*batch.summary));
  return put.Run();
}

}  // namespace lockstep
