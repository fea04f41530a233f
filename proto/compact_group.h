// The checked columns of a batch's instances in little room, for rows that are made of them later. Pure, thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "proto/instance_group.h"

namespace lockstep::codec {

// As Numbers, in no more room than their distances from the least one take: 2, 4 or 8 bytes each, none where all are
// alike.
class CompactNumbers {
 public:
  CompactNumbers() = default;  // one for all: 0
  explicit CompactNumbers(const Numbers& numbers) : CompactNumbers(numbers.stored()) {}
  explicit CompactNumbers(std::span<const int64_t> each);

  // Below the number of rows that it was made for.
  int64_t operator[](size_t row) const {
    switch (bytes_) {
      case 0:
        return static_cast<int64_t>(least_);
      case 2:
        return static_cast<int64_t>(least_ + short_[row]);
      case 4:
        return static_cast<int64_t>(least_ + narrow_[row]);
      default:
        return static_cast<int64_t>(least_ + wide_[row]);
    }
  }

  // use(k, (*this)[first + k]) of `rows` rows.
  template <typename Use>
  void ForEach(size_t first, size_t rows, const Use& use) const {
    switch (bytes_) {
      case 0:
        return UseEach(rows, use, [](size_t) { return uint64_t{0}; });
      case 2:
        return UseEach(rows, use, [&](size_t k) { return short_[first + k]; });
      case 4:
        return UseEach(rows, use, [&](size_t k) { return narrow_[first + k]; });
      default:
        return UseEach(rows, use, [&](size_t k) { return wide_[first + k]; });
    }
  }
  [[nodiscard]] bool all_zero() const { return bytes_ == 0 && least_ == 0; }

 private:
  template <typename Use, typename Distance>
  void UseEach(size_t rows, const Use& use, const Distance& distance) const {
    for (size_t k = 0; k < rows; ++k) use(k, static_cast<int64_t>(least_ + distance(k)));
  }

  uint64_t least_ = 0;
  int bytes_ = 0;  // of a distance
  std::vector<uint16_t> short_;
  std::vector<uint32_t> narrow_;
  std::vector<uint64_t> wide_;
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
