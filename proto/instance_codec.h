// Collective instances as columns grouped by communicator (InstanceBlock), for the wire and for stores.
//
// A whole batch: EncodeInstances / DecodeInstances; the order of the rows is restored exactly. One communicator at a
// time: PackInstances / UnpackInstances, whose bytes always carry each row's place in the batch. Decoding checks
// lengths, ranges and that rows ascend by start; errors are kInvalidArgument. Pure, thread safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/model/batch.h"
#include "lockstep/v1/batch.pb.h"

namespace lockstep {

void EncodeInstances(std::span<const InstanceRow> rows, v1::InstanceBlock* out);
[[nodiscard]] absl::StatusOr<std::vector<InstanceRow>> DecodeInstances(const v1::InstanceBlock& in);

// The rows of one communicator out of a batch. `columns` is a compressed InstanceColumns.
struct PackedInstances {
  uint32_t communicator = 0;
  int64_t count = 0;
  int64_t first_start_ns = 0;
  int64_t last_end_ns = 0;
  std::string columns;
};
// Ascending by communicator.
[[nodiscard]] std::vector<PackedInstances> PackInstances(std::span<const InstanceRow> rows);

struct UnpackedInstances {
  std::vector<InstanceRow> rows;
  std::vector<uint32_t> positions;  // place of each row in its batch, ascending
};
[[nodiscard]] absl::StatusOr<UnpackedInstances> UnpackInstances(std::string_view columns);
// Puts the parts of one batch back together; fails unless the positions are exactly 0 .. n-1.
[[nodiscard]] absl::StatusOr<std::vector<InstanceRow>> JoinInstances(std::vector<UnpackedInstances> parts);

}  // namespace lockstep
