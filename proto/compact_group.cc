#include "proto/compact_group.h"

#include <algorithm>

namespace lockstep::codec {
namespace {

CompactSegments CompactOf(const SegmentGroup& group) {
  CompactSegments out;
  out.begin_ns = CompactNumbers(group.begin_ns);
  out.compute_ns = CompactNumbers(group.compute_ns);
  out.copy_ns = CompactNumbers(group.copy_ns);
  out.other_comm_ns = CompactNumbers(group.other_comm_ns);
  out.host_ns = CompactNumbers(group.host_ns);
  out.launch_ns = CompactNumbers(group.launch_ns);
  out.dependency_ns = CompactNumbers(group.dependency_ns);
  out.rest_ns = CompactNumbers(group.rest_ns);
  out.second_slack_ns = CompactNumbers(group.second_slack_ns);
  out.tile_counts = CompactNumbers(group.tile_counts);
  out.tile_instances = CompactNumbers(group.tile_instances);
  out.tile_offsets_ns = CompactNumbers(group.tile_offsets_ns);
  out.tile_lengths_ns = CompactNumbers(group.tile_lengths_ns);
  return out;
}

CompactCovers CompactOf(const CoverGroup& group) {
  CompactCovers out;
  out.piece_counts = CompactNumbers(group.piece_counts);
  out.gaps_ns = CompactNumbers(group.gaps_ns);
  out.lengths_ns = CompactNumbers(group.lengths_ns);
  return out;
}

template <typename Distance>
void PutDistances(std::span<const int64_t> each, uint64_t least, std::vector<Distance>& out) {
  out.resize(each.size());
  for (size_t i = 0; i < each.size(); ++i) out[i] = static_cast<Distance>(static_cast<uint64_t>(each[i]) - least);
}

}  // namespace

CompactNumbers::CompactNumbers(std::span<const int64_t> each) {
  if (each.empty()) return;
  int64_t least = each.front();
  int64_t most = each.front();
  for (const int64_t number : each) {
    least = std::min(least, number);
    most = std::max(most, number);
  }
  least_ = static_cast<uint64_t>(least);
  const uint64_t widest = static_cast<uint64_t>(most) - least_;
  if (widest == 0) return;
  bytes_ = widest <= UINT16_MAX ? 2 : widest <= UINT32_MAX ? 4 : 8;
  if (bytes_ == 2) PutDistances(each, least_, short_);
  if (bytes_ == 4) PutDistances(each, least_, narrow_);
  if (bytes_ == 8) PutDistances(each, least_, wide_);
}

CompactGroup::CompactGroup(const InstanceGroup& group)
    : communicator(group.communicator),
      start_ns(group.start_ns),
      duration_ns(group.duration_ns),
      launch_start_ns(group.launch_start_ns),
      launch_end_ns(group.launch_end_ns),
      seq(group.seq),
      bytes(group.bytes),
      step(group.step),
      graph_launch(group.graph_launch),
      graph_position(group.graph_position),
      has_comms_id(group.has_comms_id),
      comms_id(group.comms_id),
      name(group.name),
      stream(group.stream),
      peer(group.peer),
      root(group.root),
      op(group.op),
      dtype(group.dtype),
      library(group.library),
      segment(CompactOf(group.segment)),
      cover(CompactOf(group.cover)) {}

}  // namespace lockstep::codec
