#include "proto/instance_rows.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace lockstep::codec {
namespace {

// Where each row of the groups, one after the other, stands in the batch: a stable sort by key restores what the
// encoder verified.
std::vector<uint32_t> SortedPlaces(const InstanceGroups& all) {
  struct Key {
    int64_t start_ns;
    int64_t stream;
    int64_t name;
    uint32_t row;  // communicators ascend with it
    auto operator<=>(const Key&) const = default;
  };
  std::vector<Key> keys;
  keys.reserve(all.rows);
  for (const InstanceGroup& group : all.groups) {
    for (size_t i = 0; i < group.rows; ++i) {
      keys.push_back({group.start_ns[i], group.stream[i], group.name[i], static_cast<uint32_t>(keys.size())});
    }
  }
  std::sort(keys.begin(), keys.end());
  std::vector<uint32_t> places(keys.size());
  for (uint32_t place = 0; place < keys.size(); ++place) places[keys[place].row] = place;
  return places;
}

std::vector<uint32_t> PlacesInOrder(size_t rows) {
  std::vector<uint32_t> places(rows);
  std::iota(places.begin(), places.end(), 0);
  return places;
}

std::vector<uint32_t> PlacesOf(const InstanceGroups& all) {
  if (!all.has_positions) return all.groups.size() > 1 ? SortedPlaces(all) : PlacesInOrder(all.rows);
  std::vector<uint32_t> places;
  for (const InstanceGroup& group : all.groups) {
    places.insert(places.end(), group.positions.begin(), group.positions.end());
  }
  return places;
}

void FillRow(const InstanceGroup& group, size_t i, InstanceRow& row) {
  row.start_ns = group.start_ns[i];
  row.duration_ns = group.duration_ns[i];
  row.launch_start_ns = group.launch_start_ns[i];
  row.launch_end_ns = group.launch_end_ns[i];
  row.seq = group.seq[i];
  row.bytes = group.bytes[i];
  row.step = group.step[i];
  row.graph_launch = group.graph_launch[i];
  row.graph_position = group.graph_position[i];
  row.comms_id = static_cast<uint64_t>(group.comms_id[i]);
  row.communicator = group.communicator;
  row.name = static_cast<uint32_t>(group.name[i]);
  row.stream = static_cast<int32_t>(group.stream[i]);
  row.peer = static_cast<int32_t>(group.peer[i]);
  row.root = static_cast<int32_t>(group.root[i]);
  row.op = static_cast<CollectiveOp>(group.op[i]);
  row.dtype = static_cast<DataType>(group.dtype[i]);
  row.library = static_cast<CollectiveLibrary>(group.library[i]);
  row.has_comms_id = group.has_comms_id[i] != 0;
}

void FillSegment(const SegmentGroup& group, size_t i, Segment& segment) {
  segment.begin_ns = group.begin_ns[i];
  segment.compute_ns = group.compute_ns[i];
  segment.copy_ns = group.copy_ns[i];
  segment.other_comm_ns = group.other_comm_ns[i];
  segment.host_ns = group.host_ns[i];
  segment.launch_ns = group.launch_ns[i];
  segment.dependency_ns = group.dependency_ns[i];
  segment.rest_ns = group.rest_ns[i];
  segment.second_slack_ns = group.second_slack_ns[i];
}

// Row i of the group becomes rows[places[i]].
void FillRows(const InstanceGroup& group, std::span<const uint32_t> places, std::span<InstanceRow> rows) {
  size_t tile = 0;
  size_t piece = 0;
  for (size_t i = 0; i < group.rows; ++i) {
    InstanceRow& row = rows[places[i]];
    FillRow(group, i, row);
    FillSegment(group.segment, i, row.segment);
    const auto tiles = static_cast<size_t>(group.segment.tile_counts[i]);
    row.segment.tiles.reserve(tiles);
    for (const size_t end = tile + tiles; tile < end; ++tile) {
      row.segment.tiles.push_back({group.segment.tile_instances[tile], group.segment.tile_offsets_ns[tile],
                                   group.segment.tile_lengths_ns[tile]});
    }
    const auto pieces = static_cast<size_t>(group.cover.piece_counts[i]);
    row.cover.reserve(pieces);
    for (const size_t end = piece + pieces; piece < end; ++piece) {
      row.cover.emplace_back(group.cover.gaps_ns[piece], group.cover.lengths_ns[piece]);
    }
  }
}

}  // namespace

std::vector<InstanceRow> RowsOf(const InstanceGroups& all) {
  const std::vector<uint32_t> places = PlacesOf(all);
  std::vector<InstanceRow> rows(all.rows);
  size_t first = 0;
  for (const InstanceGroup& group : all.groups) {
    FillRows(group, std::span(places).subspan(first, group.rows), rows);
    first += group.rows;
  }
  return rows;
}

std::vector<InstanceRow> RowsOf(const InstanceGroup& group) {
  std::vector<InstanceRow> rows(group.rows);
  FillRows(group, PlacesInOrder(group.rows), rows);
  return rows;
}

}  // namespace lockstep::codec
