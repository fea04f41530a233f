// Collective instances as columns grouped by communicator (InstanceBlock), for the wire and for stores.
//
// The order of the rows is restored exactly. Decoding checks lengths, ranges and that rows ascend by start; errors are
// kInvalidArgument. Pure, thread safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/model/instance_row.h"
#include "lockstep/v1/batch.pb.h"
#include "proto/instance_rows.h"

namespace lockstep {

void EncodeInstances(std::span<const InstanceRow> rows, v1::InstanceBlock* out);
// Of a serialised v1::InstanceBlock.
[[nodiscard]] absl::StatusOr<std::vector<InstanceRow>> DecodeInstances(std::string_view block);

// The same as one string, for stores: a compressed InstanceBlock, as a batch carries it.
[[nodiscard]] std::string PackInstances(std::span<const InstanceRow> rows);
[[nodiscard]] absl::StatusOr<std::vector<InstanceRow>> UnpackInstances(std::string_view block);
// The same rows in pieces of so many.
[[nodiscard]] absl::StatusOr<codec::RowPieces> UnpackInPieces(std::string_view block, size_t piece_rows);

// One communicator's rows of a batch with their places in it, as stores kept them before schema 5: a compressed
// InstanceColumns.
struct UnpackedInstances {
  std::vector<InstanceRow> rows;
  std::vector<uint32_t> positions;  // place of each row in its batch, ascending
};
[[nodiscard]] absl::StatusOr<UnpackedInstances> UnpackCommunicator(std::string_view columns);
// Puts the parts of one batch back together; fails unless the positions are exactly 0 .. n-1.
[[nodiscard]] absl::StatusOr<std::vector<InstanceRow>> JoinInstances(std::vector<UnpackedInstances> parts);

}  // namespace lockstep
