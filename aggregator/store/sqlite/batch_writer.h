// Writes the rows of one batch of one source. All calls happen inside the caller's transaction, on the writer's thread.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string_view>

#include "analysis/base/hash128.h"
#include "analysis/model/batch.h"
#include "platform/sqlite.h"

namespace lockstep {

class BatchWriter {
 public:
  // `run` and `source` are row ids. The database must outlive the writer.
  BatchWriter(Database& db, int64_t run, int64_t source) : db_(db), run_(run), source_(source) {}

  // The batch has passed CheckBatch. Errors are sqlite's, or kDataLoss when a stored blob cannot be read back.
  // `instances`: those of the batch as PackInstances gives them.
  [[nodiscard]] absl::Status Write(const Hash128& hash, const Batch& batch, std::string_view instances);

 private:
  absl::Status WriteNames(const Batch& batch);
  absl::Status WriteCommunicators(const Batch& batch);
  absl::Status WriteInstances(const Hash128& hash, const Batch& batch, std::string_view instances);
  absl::Status WriteCollectiveOps(const Batch& batch);
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
