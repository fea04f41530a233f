// One collective as one source saw it, with the segment of time before it.
#pragma once

#include <cstdint>
#include <utility>

#include "analysis/base/few.h"
#include "analysis/model/collective.h"
#include "analysis/model/row_values.h"
#include "analysis/model/trace_record.h"

namespace lockstep {

// Time that other communication took in the segment before an instance: at `offset_ns` after the segment's begin the
// instance with ordinal `instance` (position in the source's INST stream) covered `length_ns`.
struct OtherCommTile {
  int64_t instance = 0;
  int64_t offset_ns = 0;
  int64_t length_ns = 0;
  friend bool operator==(const OtherCommTile&, const OtherCommTile&) = default;
};

// The segment of a source before one instance: from the end of the previous instance of the same communicator (or the
// first activity) to this start. The parts tile it exactly: begin + sum of parts = start.
struct Segment {
  int64_t begin_ns = kNoTime;  // kNoTime: no segment (first instance of the communicator)
  int64_t compute_ns = 0;
  int64_t copy_ns = 0;
  int64_t other_comm_ns = 0;  // = sum of the tiles
  int64_t host_ns = 0;
  int64_t launch_ns = 0;
  int64_t dependency_ns = 0;
  int64_t rest_ns = 0;
  int64_t second_slack_ns = -1;  // how much earlier the second predecessor ended; kept under 50 us, else -1
  Few<OtherCommTile> tiles;
  friend bool operator==(const Segment&, const Segment&) = default;
};

// One communication kernel (or identified copy-engine collective) of the source.
struct InstanceRow {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  int64_t launch_start_ns = kNoTime;
  int64_t launch_end_ns = kNoTime;
  int64_t seq = kNoSeq;
  int64_t bytes = kUnknownBytes;
  int64_t step = kNoStep;     // the step number by launch
  int64_t graph_launch = -1;  // ordinal of the graph launch in the source, and the position inside it
  int64_t graph_position = -1;
  uint64_t comms_id = 0;
  uint32_t communicator = 0;  // LocalCommunicator::id
  uint32_t name = 0;          // NameDef::id
  int32_t stream = -1;
  int32_t peer = -1;
  int32_t root = -1;
  CollectiveOp op = CollectiveOp::kUnknown;
  DataType dtype = DataType::kUnknown;
  CollectiveLibrary library = CollectiveLibrary::kNone;
  bool has_comms_id = false;
  Segment segment;
  // Merged compute intervals clipped to the instance, as (gap from the previous end, length); the first gap counts from
  // the start of the instance. Empty for most.
  Few<std::pair<int64_t, int64_t>> cover;

  [[nodiscard]] int64_t end_ns() const { return start_ns + duration_ns; }
  friend bool operator==(const InstanceRow&, const InstanceRow&) = default;
};

}  // namespace lockstep
