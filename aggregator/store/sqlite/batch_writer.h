// Writes the rows of one batch of one source. All calls happen inside the caller's transaction, on the writer's thread.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/base/hash128.h"
#include "analysis/model/received_batch.h"
#include "platform/sqlite.h"

namespace lockstep {

// A batch with all that takes time to find out: made before the store's turn.
struct BatchToWrite {
  BatchToWrite(const Hash128& content_hash, const ReceivedBatch& received_batch);

  Hash128 hash;
  const ReceivedBatch& received;  // must outlive this
  // Of rows; what is packed has them.
  std::string packed_rows;
  std::vector<CollectiveOpRow> ops_of_rows;

  [[nodiscard]] std::string_view packed() const { return received.packed.empty() ? packed_rows : received.packed; }
  [[nodiscard]] std::span<const CollectiveOpRow> ops() const {
    return received.packed.empty() ? ops_of_rows : received.ops;
  }
};

class BatchWriter {
 public:
  // `run` and `source` are row ids. The database must outlive the writer.
  BatchWriter(Database& db, int64_t run, int64_t source) : db_(db), run_(run), source_(source) {}

  // The batch has passed CheckBatch. Errors are sqlite's, or kDataLoss when a stored blob cannot be read back.
  [[nodiscard]] absl::Status Write(const BatchToWrite& to_write);

 private:
  absl::Status WriteNames(const Batch& batch);
  absl::Status WriteCommunicators(const Batch& batch);
  absl::Status WriteInstances(const BatchToWrite& batch);
  absl::Status WriteCollectiveOps(const BatchToWrite& batch);
  absl::Status WriteKernels(const Batch& batch);
  absl::Status WriteKernel(std::vector<KernelRow> rows);
  absl::Status WriteSteps(const Batch& batch);
  absl::Status WriteStepKernels(const Batch& batch);
  absl::Status WriteBuckets(const Batch& batch);
  absl::Status WriteMemory(const Batch& batch);
  absl::Status WriteApis(const Batch& batch);
  absl::Status WriteRanges(const Batch& batch);
  absl::Status WriteLaunches(const Batch& batch);
  absl::Status WriteSummary(const Batch& batch);

  Database& db_;
  const int64_t run_;
  const int64_t source_;
};

}  // namespace lockstep
