// Any bytes as a batch: the decoder answers with a batch or an error. The first byte chooses where the rest goes,
// because random bytes rarely pass the compression: the whole message, or the columns behind it. What decodes must come
// back equal from its own encoding, instances must be read as the reference reads them, and a store must be told of
// them what their rows say.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analysis/base/check.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/received_batch.h"
#include "proto/batch_codec.h"
#include "proto/instance_codec.h"
#include "proto/step_codec.h"
#include "proto/table_codec.h"
#include "tests/support/codec/reference_instances.h"

namespace {

// What stays packed for a store.
void CheckReceived(std::string_view body) {
  const absl::StatusOr<lockstep::Batch> batch = lockstep::DecodeBatch(body);
  const absl::StatusOr<lockstep::ReceivedBatch> received = lockstep::DecodeForStore(body);
  LOCKSTEP_CHECK(batch.status() == received.status());
  if (!batch.ok()) return;
  LOCKSTEP_CHECK(received->instances == lockstep::FactsOf(batch->instances));
  LOCKSTEP_CHECK(received->ops == lockstep::CollectiveOpsOf(batch->instances));
  if (batch->instances.empty()) return;
  const absl::StatusOr<std::vector<lockstep::InstanceRow>> rows = lockstep::UnpackInstances(received->packed);
  LOCKSTEP_CHECK(rows.ok() && *rows == batch->instances);
  absl::StatusOr<lockstep::codec::RowPieces> pieces = lockstep::UnpackInPieces(received->packed, 3);
  LOCKSTEP_CHECK(pieces.ok());
  std::vector<lockstep::InstanceRow> joined;
  while (!pieces->done()) {
    for (lockstep::InstanceRow& row : pieces->Next()) joined.push_back(std::move(row));
  }
  LOCKSTEP_CHECK(joined == batch->instances);
}

void CheckRoundTrip(const lockstep::Batch& batch) {
  const absl::StatusOr<lockstep::Batch> again = lockstep::DecodeBatch(lockstep::EncodeBatch(batch));
  LOCKSTEP_CHECK(again.ok());
  LOCKSTEP_CHECK(*again == batch);
  CheckReceived(lockstep::EncodeBatch(batch));
}

template <typename Message>
bool Parse(std::string_view bytes, Message* message) {
  return message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

void FuzzInstances(std::string_view bytes) {
  const absl::StatusOr<std::vector<lockstep::InstanceRow>> rows = lockstep::DecodeInstances(bytes);
  lockstep::v1::InstanceBlock block;
  if (!Parse(bytes, &block)) {
    LOCKSTEP_CHECK(!rows.ok());
    return;
  }
  const absl::StatusOr<std::vector<lockstep::InstanceRow>> expected = lockstep::reference::DecodeInstances(block);
  LOCKSTEP_CHECK(rows.status() == expected.status());
  if (!rows.ok()) return;
  LOCKSTEP_CHECK(*rows == *expected);
  lockstep::Batch batch;
  batch.instances = *rows;
  CheckRoundTrip(batch);
}

void FuzzSteps(std::string_view bytes) {
  lockstep::v1::StepBlock block;
  lockstep::Batch batch;
  if (Parse(bytes, &block) && lockstep::DecodeSteps(block, &batch).ok()) CheckRoundTrip(batch);
}

void FuzzTables(std::string_view bytes) {
  lockstep::v1::TableBlock block;
  lockstep::Batch batch;
  if (Parse(bytes, &block) && lockstep::DecodeTables(block, &batch).ok()) CheckRoundTrip(batch);
}

void FuzzContext(std::string_view bytes) {
  lockstep::v1::SourceContext message;
  if (!Parse(bytes, &message)) return;
  const absl::StatusOr<lockstep::SourceContext> context = lockstep::FromProto(message);
  if (!context.ok()) return;
  lockstep::v1::SourceContext again;
  lockstep::ToProto(*context, &again);
  LOCKSTEP_CHECK(lockstep::FromProto(again).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 5) {
    case 0: {
      CheckReceived(bytes);
      const absl::StatusOr<lockstep::Batch> batch = lockstep::DecodeBatch(bytes);
      if (batch.ok()) CheckRoundTrip(*batch);
      break;
    }
    case 1:
      FuzzInstances(bytes);
      break;
    case 2:
      FuzzSteps(bytes);
      break;
    case 3:
      FuzzTables(bytes);
      break;
    default:
      FuzzContext(bytes);
      break;
  }
  return 0;
}
