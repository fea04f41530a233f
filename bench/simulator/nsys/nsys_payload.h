// NCCL's NVTX payloads as nsys exports them: binary blobs described by schema tables (NCCL >= 2.25 layout), and the
// JSON of advanced tracing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bench/simulator/cluster/cluster.h"
#include "bench/simulator/program/step_program.h"

namespace lockstep {

inline constexpr int64_t kNcclDomain = 1;

struct PayloadEntry {
  int64_t type = 0;  // NVTX payload entry type
  std::string_view name;
  int64_t offset = 0;
};
struct PayloadSchema {
  std::string_view range;  // NCCL API function
  int64_t schema_id = 0;
  int64_t payload_size = 0;
  std::span<const PayloadEntry> entries;
};
[[nodiscard]] std::span<const PayloadSchema> NcclPayloadSchemas();

inline constexpr std::string_view kNcclInitRange = "ncclCommInitRankConfig";
[[nodiscard]] std::string_view NcclRangeOf(CollectiveOp op);

// Blobs with nsys' 32-byte header.
[[nodiscard]] std::string InitPayload(const RankGroup& group, int32_t own_position, int32_t device);
// One NCCL call. `peer`, `root`: position in the group for pairwise and rooted operations, else -1.
struct NcclCall {
  CollectiveOp op = CollectiveOp::kUnknown;
  DataType dtype = DataType::kUnknown;
  int64_t bytes = 0;
  int32_t own_position = 0;
  int32_t peer = -1;
  int32_t root = -1;
  int64_t seq = -1;     // CallNumber's
  int64_t shared = -1;  // -1: one of many calls of an operation, without an id
};
[[nodiscard]] std::string CollectivePayload(const NcclCall& call, const RankGroup& group);

// Equal on all ranks of one operation.
[[nodiscard]] uint64_t OperationIdOf(const RankGroup& group, const NcclCall& call);
// JSON of advanced tracing for one call, which takes the blob's place.
[[nodiscard]] std::string CollectiveJson(const NcclCall& call, const RankGroup& group);

}  // namespace lockstep
