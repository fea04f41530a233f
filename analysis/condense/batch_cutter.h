// Collects a source's rows into batches and cuts them by content alone: 4,096 instances, 256 steps, or about 1 MiB.
// Also owns the source's name dictionary: a name is defined in the batch of its first use. One thread, no I/O.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "analysis/condense/file_interner.h"
#include "analysis/model/batch.h"

namespace lockstep {

class BatchCutter {
 public:
  static constexpr size_t kMaxInstances = 4'096;
  static constexpr size_t kMaxSteps = 256;
  static constexpr int64_t kMaxBytes = int64_t{1} << 20;

  BatchCutter(const FileInterner& names, std::function<absl::Status(Batch)> emit);

  // The dictionary id of a file's name; kNoId stays kNoId.
  uint32_t Name(NameId id);

  // Names inside the rows are dictionary ids already.
  absl::Status Add(InstanceRow row);
  absl::Status Add(StepRow row);
  absl::Status Add(const BucketRow& row);
  absl::Status Add(KernelRow row);
  absl::Status Add(const StepKernelRow& row);
  absl::Status Add(MemoryRow row);
  absl::Status Add(ApiRow row);
  absl::Status Add(RangeRow row);
  absl::Status Add(LaunchRow row);
  void Define(LocalCommunicator communicator);
  absl::Status Finish(SourceSummary summary);

 private:
  absl::Status Grow(int64_t bytes);
  absl::Status Cut();

  const FileInterner& names_;
  std::function<absl::Status(Batch)> emit_;
  std::unordered_map<NameId, uint32_t> ids_;
  Batch batch_;
  int64_t bytes_ = 0;
};

}  // namespace lockstep
