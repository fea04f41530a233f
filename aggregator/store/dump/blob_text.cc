#include "aggregator/store/dump/blob_text.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <vector>

#include "aggregator/store/dump/message_text.h"
#include "aggregator/store/dump/value_text.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"
#include "lockstep/v1/batch.pb.h"
#include "lockstep/v1/ingest.pb.h"
#include "proto/column_codec.h"
#include "proto/instance_codec.h"
#include "proto/step_codec.h"
#include "proto/table_codec.h"

namespace lockstep {
namespace {

constexpr int kIndent = 2;

template <typename Message>
absl::Status PlainMessage(std::string_view label, std::string_view bytes, std::string* out) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError(fmt::format("{} bytes do not parse", bytes.size()));
  }
  return AppendMessage(message, label, kIndent, out);
}

// Batches up to version 3 had sketches: what a newer one would say of the same values.
absl::Status LaunchTimes(std::string_view label, std::string_view bytes, std::string* out) {
  v1::Launches message;
  const bool parsed = message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  const bool has_sketches = parsed && !(message.total_ns().empty() && message.api_ns().empty() &&
                                        message.queue_ns().empty() && message.kernel_ns().empty());
  if (!has_sketches) return PlainMessage<v1::Launches>(label, bytes, out);
  LaunchRow row;
  LOCKSTEP_RETURN_IF_ERROR(DecodeRow(bytes, &row));
  return PlainMessage<v1::Launches>(label, EncodeRow(row), out);
}

absl::Status KernelRows(std::string_view label, std::string_view bytes, std::string* out) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<KernelRow> rows, UnpackKernels(bytes));
  v1::TableBlock block;
  for (const KernelRow& row : rows) PutPlainly(row, block.add_kernels());
  return AppendMessage(block, label, kIndent, out);
}

absl::Status Distribution(std::string_view label, std::string_view bytes, std::string* out) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Sketch sketch, codec::GetSketch(label, bytes));
  fmt::format_to(std::back_inserter(*out), "  {} ", label);
  AppendSketch(sketch, out);
  out->push_back('\n');
  return absl::OkStatus();
}

absl::Status Instances(std::string_view /*label*/, std::string_view bytes, std::string* out) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<InstanceRow> rows, UnpackInstances(bytes));
  for (size_t i = 0; i < rows.size(); ++i) {
    fmt::format_to(std::back_inserter(*out), "  instance at={}", i);
    AppendInstance(rows[i], out);
    out->push_back('\n');
  }
  return absl::OkStatus();
}

absl::Status InstancesOfCommunicator(std::string_view /*label*/, std::string_view bytes, std::string* out) {
  LOCKSTEP_ASSIGN_OR_RETURN(const UnpackedInstances block, UnpackCommunicator(bytes));
  for (size_t i = 0; i < block.rows.size(); ++i) {
    fmt::format_to(std::back_inserter(*out), "  instance at={}", block.positions[i]);
    AppendInstance(block.rows[i], out);
    out->push_back('\n');
  }
  return absl::OkStatus();
}

absl::Status Buckets(std::string_view /*label*/, std::string_view bytes, std::string* out) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<BucketRow> rows, UnpackBuckets(bytes));
  for (const BucketRow& row : rows) {
    fmt::format_to(std::back_inserter(*out), "  bucket index={}", row.index);
    AppendMeasure(row.measure, out);
    out->push_back('\n');
  }
  return absl::OkStatus();
}

absl::Status StepKernels(std::string_view /*label*/, std::string_view bytes, std::string* out) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<StepKernelRow> rows, UnpackStepKernels(bytes));
  for (const StepKernelRow& row : rows) {
    const std::string step = row.step == kNoStep ? "null" : fmt::format("{}", row.step);
    fmt::format_to(std::back_inserter(*out), "  step_kernel step={} name={} instances={} total_ns={}\n", step, row.name,
                   row.instances, row.total_ns);
  }
  return absl::OkStatus();
}

struct BlobColumn {
  std::string_view table;
  std::string_view column;
  absl::Status (*append)(std::string_view label, std::string_view bytes, std::string* out);
};
constexpr std::array kColumns = {
    BlobColumn{"source", "context", &PlainMessage<v1::SourceContext>},
    BlobColumn{"communicator", "definition", &PlainMessage<v1::LocalCommunicator>},
    BlobColumn{"batch_instances", "block", &Instances},
    BlobColumn{"instance_block", "columns", &InstancesOfCommunicator},
    BlobColumn{"kernel", "duration_ns", &Distribution},
    BlobColumn{"kernel", "rows", &KernelRows},
    BlobColumn{"bucket", "columns", &Buckets},
    BlobColumn{"batch_step_kernels", "columns", &StepKernels},
    BlobColumn{"collective_op", "duration_ns", &Distribution},
    BlobColumn{"memory", "row", &PlainMessage<v1::MemoryOperations>},
    BlobColumn{"api", "row", &PlainMessage<v1::ApiCalls>},
    BlobColumn{"range", "row", &PlainMessage<v1::Ranges>},
    BlobColumn{"launch", "row", &LaunchTimes},
    BlobColumn{"summary", "row", &PlainMessage<v1::SourceSummary>},
    BlobColumn{"file_note", "note", &PlainMessage<v1::FileNote>},
};

const BlobColumn* Find(std::string_view table, std::string_view column) {
  for (const BlobColumn& known : kColumns) {
    if (known.table == table && known.column == column) return &known;
  }
  return nullptr;
}

}  // namespace

BlobForm FormOf(std::string_view table, std::string_view column) {
  return Find(table, column) == nullptr ? BlobForm::kHex : BlobForm::kLines;
}

absl::Status AppendBlob(std::string_view table, std::string_view column, std::string_view bytes, std::string* out) {
  const absl::Status appended = Find(table, column)->append(column, bytes, out);
  return appended.ok() ? appended
                       : absl::DataLossError(fmt::format("a value of {}.{} cannot be read: {}", table, column,
                                                         std::string(appended.message())));
}

}  // namespace lockstep
