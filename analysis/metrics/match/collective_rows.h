// The collective instances of all ranks in the compact form that matching works on.
//
// Held for all ranks at once (80 bytes an instance): the matched result is as large anyway.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/row_values.h"
#include "analysis/model/run_data.h"

namespace lockstep {

struct CollectiveRow {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t seq = kNoSeq;
  int64_t bytes = kUnknownBytes;
  int64_t step = kNoStep;
  uint64_t comms_id = 0;
  uint32_t communicator = 0;  // LocalCommunicator::id
  int32_t peer = -1;
  int32_t root = -1;
  int32_t stream = -1;  // -1: replayed from a graph, whose streams are not those of the capture
  CollectiveOp op = CollectiveOp::kUnknown;
  DataType dtype = DataType::kUnknown;
  CollectiveLibrary library = CollectiveLibrary::kNone;
  bool has_comms_id = false;
  bool duplicate = false;  // equal in everything to a row before it: the record was told twice, and is not joined

  friend bool operator==(const CollectiveRow&, const CollectiveRow&) = default;
};

struct RankRows {
  std::vector<CollectiveRow> rows;  // in order of start: index = ordinal in the source's stream of all instances
  int64_t tick_ns = 32;             // resolution of the times: 1,000 if all are whole microseconds
  bool nsys = false;                // format of the source
};

// One entry per rank of the resolution. Errors: those of the instance source.
[[nodiscard]] absl::StatusOr<std::vector<RankRows>> LoadCollectiveRows(const RunData& run, InstanceSource& instances,
                                                                       const RankResolution& ranks, Executor& executor);

}  // namespace lockstep
