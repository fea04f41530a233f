// The checked columns of a batch's instances in little room, for rows that are made of them later. Pure, thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "proto/instance_group.h"

namespace lockstep::codec {

// As Numbers: half the room where all are within 2^32 of each other.
class CompactNumbers {
 public:
  CompactNumbers() : narrow_{0} {}
  explicit CompactNumbers(const Numbers& numbers);
  explicit CompactNumbers(std::span<const int64_t> each);

  // Below the number of rows that it was made for.
  int64_t operator[](size_t row) const {
    if (!wide_.empty()) return wide_[row];
    return static_cast<int64_t>(least_ + narrow_[row & mask_]);
  }

 private:
  void Take(std::span<const int64_t> each);

  uint64_t least_ = 0;
  std::vector<uint32_t> narrow_;  // above the least
  std::vector<int64_t> wide_;     // or, as they are
  size_t mask_ = 0;               // 0: one for all
};

// As SegmentGroup, CoverGroup and InstanceGroup, without what only a reader of columns needs.
struct CompactSegments {
  CompactNumbers begin_ns, compute_ns, copy_ns, other_comm_ns, host_ns, launch_ns, dependency_ns, rest_ns;
  CompactNumbers second_slack_ns;
  CompactNumbers tile_counts, tile_instances, tile_offsets_ns, tile_lengths_ns;
};

struct CompactCovers {
  CompactNumbers piece_counts, gaps_ns, lengths_ns;
};

struct CompactGroup {
  CompactGroup() = default;
  explicit CompactGroup(const InstanceGroup& group);

  uint32_t communicator = 0;
  CompactNumbers start_ns, duration_ns, launch_start_ns, launch_end_ns, seq, bytes, step, graph_launch, graph_position;
  CompactNumbers has_comms_id, comms_id, name, stream, peer, root, op, dtype, library;
  CompactSegments segment;
  CompactCovers cover;
};

}  // namespace lockstep::codec
