// The instances of one communicator in a batch as checked columns: what both the rows and the facts about them are made
// of. Pure, thread safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/model/row_values.h"
#include "lockstep/v1/batch.pb.h"
#include "proto/column_codec.h"
#include "proto/column_reader.h"
#include "proto/wire_columns.h"

namespace lockstep::codec {

// The plain columns: their name on the wire and in both structs, the name of the field's number, the value of all rows
// when left out, and the limits.
#define LOCKSTEP_INSTANCE_COLUMNS(COLUMN)                                    \
  COLUMN(duration_ns, kDurationNs, 0, {0, codec::kMaxLengthNs})              \
  COLUMN(seq, kSeq, kNoSeq, {})                                              \
  COLUMN(bytes, kBytes, kUnknownBytes, {-1, codec::kAnyMax})                 \
  COLUMN(graph_launch, kGraphLaunch, -1, {-1, codec::kAnyMax})               \
  COLUMN(graph_position, kGraphPosition, -1, {-1, codec::kAnyMax})           \
  COLUMN(name, kName, 0, {0, kNoId - 1})                                     \
  COLUMN(stream, kStream, -1, {INT32_MIN, INT32_MAX})                        \
  COLUMN(peer, kPeer, -1, {INT32_MIN, INT32_MAX})                            \
  COLUMN(root, kRoot, -1, {INT32_MIN, INT32_MAX})                            \
  COLUMN(op, kOp, 0, {0, static_cast<int64_t>(CollectiveOp::kAllGatherV)})   \
  COLUMN(dtype, kDtype, 0, {0, static_cast<int64_t>(DataType::kComplex128)}) \
  COLUMN(library, kLibrary, 0, {0, static_cast<int64_t>(kLastCollectiveLibrary)})

// Likewise those of the segments.
#define LOCKSTEP_SEGMENT_PARTS(COLUMN)                            \
  COLUMN(copy_ns, kCopyNs, 0, {0, codec::kMaxTimeNs})             \
  COLUMN(host_ns, kHostNs, 0, {0, codec::kMaxTimeNs})             \
  COLUMN(launch_ns, kLaunchNs, 0, {0, codec::kMaxTimeNs})         \
  COLUMN(dependency_ns, kDependencyNs, 0, {0, codec::kMaxTimeNs}) \
  COLUMN(rest_ns, kRestNs, 0, {0, codec::kMaxTimeNs})

// Packed pieces of covers that are all alike take no room: so many a row, and what covers of more take is sent plainly.
inline constexpr size_t kPackedPiecesPerRow = 16;

// As Segment.
struct SegmentGroup {
  Numbers begin_ns{kNoTime};
  Numbers compute_ns;
  Numbers copy_ns;
  Numbers other_comm_ns;
  Numbers host_ns;
  Numbers launch_ns;
  Numbers dependency_ns;
  Numbers rest_ns;
  Numbers second_slack_ns{-1};
  Numbers besides_compute_ns;  // sum of all parts but compute, modulo 2^64
  Numbers tile_counts;         // of each row, and
  std::vector<int64_t> tile_instances;
  std::vector<int64_t> tile_offsets_ns;
  std::vector<int64_t> tile_lengths_ns;  // of all tiles, one row's after the other's
};

// As InstanceRow::cover.
struct CoverGroup {
  Numbers piece_counts;  // of each row, and
  std::vector<int64_t> gaps_ns;
  std::vector<int64_t> lengths_ns;  // of all pieces
};

// As InstanceRow; numbers fit the row's types.
struct InstanceGroup {
  uint32_t communicator = 0;
  size_t rows = 0;
  std::vector<uint32_t> positions;  // place of each row in the batch, ascending; empty: not told
  std::vector<int64_t> start_ns;
  Numbers duration_ns;
  Numbers launch_start_ns{kNoTime};
  Numbers launch_end_ns{kNoTime};
  Numbers seq;
  Numbers bytes;
  Numbers step{kNoStep};
  Numbers graph_launch;
  Numbers graph_position;
  Numbers has_comms_id;
  Numbers comms_id;
  Numbers name;
  Numbers stream;
  Numbers peer;
  Numbers root;
  Numbers op;
  Numbers dtype;
  Numbers library;
  SegmentGroup segment;
  CoverGroup cover;

  [[nodiscard]] int64_t end_ns(size_t row) const { return start_ns[row] + duration_ns[row]; }
  // From the segment's begin to the start; 0 without a segment.
  [[nodiscard]] int64_t SegmentLength(size_t row) const {
    const int64_t begin = segment.begin_ns[row];
    return begin == kNoTime ? 0 : WrapSub(start_ns[row], begin);
  }
};

// Of a serialised v1::InstanceColumns. Checks all but the order of the rows. Errors: kInvalidArgument naming the
// column.
[[nodiscard]] absl::StatusOr<InstanceGroup> ReadGroup(std::string_view columns);
// Fails where one starts before the one before it.
[[nodiscard]] absl::Status CheckOrder(const std::vector<int64_t>& starts);
// Parts of a group: what needs nothing else, then what hangs on the rows' start and duration.
[[nodiscard]] absl::Status ReadParts(WireColumns& segments, InstanceGroup* group);
[[nodiscard]] absl::Status ReadSegments(WireColumns& segments, InstanceGroup* group);
[[nodiscard]] absl::Status ReadCovers(WireColumns& covers, InstanceGroup* group);

// All communicators of a batch, ascending. Checks the order of the rows as well: in their places they ascend by start.
struct InstanceGroups {
  std::vector<InstanceGroup> groups;
  size_t rows = 0;
  bool has_positions = false;  // of all rows; else a sort by (start, stream, name, communicator) tells them
};
// Of a serialised v1::InstanceBlock.
[[nodiscard]] absl::StatusOr<InstanceGroups> ReadGroups(std::string_view block);
// The same of a block as batches and stores carry it.
[[nodiscard]] absl::StatusOr<InstanceGroups> UnpackGroups(const v1::CompressedColumns& in);

}  // namespace lockstep::codec
