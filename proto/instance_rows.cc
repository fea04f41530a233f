#include "proto/instance_rows.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

#include "analysis/model/instance_row.h"
#include "proto/compact_group.h"

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

// The next row of a group, and where its tiles and pieces of cover are.
struct RowCursor {
  size_t row = 0;
  size_t tile = 0;
  size_t piece = 0;
};

// Tiles and cover of row i. Of InstanceGroup or CompactGroup.
template <typename Group>
void FillLists(const Group& group, size_t i, RowCursor& next, InstanceRow& row) {
  const auto tiles = static_cast<size_t>(group.segment.tile_counts[i]);
  row.segment.tiles.reserve(tiles);
  for (const size_t end = next.tile + tiles; next.tile < end; ++next.tile) {
    row.segment.tiles.push_back({group.segment.tile_instances[next.tile], group.segment.tile_offsets_ns[next.tile],
                                 group.segment.tile_lengths_ns[next.tile]});
  }
  const auto pieces = static_cast<size_t>(group.cover.piece_counts[i]);
  row.cover.reserve(pieces);
  for (const size_t end = next.piece + pieces; next.piece < end; ++next.piece) {
    row.cover.emplace_back(group.cover.gaps_ns[next.piece], group.cover.lengths_ns[next.piece]);
  }
}

// Row i of the group becomes rows[places[i]].
void FillRows(const InstanceGroup& group, std::span<const uint32_t> places, std::span<InstanceRow> rows) {
  RowCursor next;
  for (; next.row < group.rows; ++next.row) {
    InstanceRow& row = rows[places[next.row]];
    FillRow(group, next.row, row);
    FillSegment(group.segment, next.row, row.segment);
    FillLists(group, next.row, next, row);
  }
}

// The same of neighbouring rows, column by column: what a column is stored as is asked once, not for each row.
void FillColumns(const CompactGroup& group, size_t first, std::span<InstanceRow> rows) {
  const auto fill = [&](const CompactNumbers& column, const auto& put) {
    column.ForEach(first, rows.size(), [&](size_t k, int64_t value) { put(rows[k], value); });
  };
  fill(group.start_ns, [](InstanceRow& row, int64_t value) { row.start_ns = value; });
  fill(group.duration_ns, [](InstanceRow& row, int64_t value) { row.duration_ns = value; });
  fill(group.launch_start_ns, [](InstanceRow& row, int64_t value) { row.launch_start_ns = value; });
  fill(group.launch_end_ns, [](InstanceRow& row, int64_t value) { row.launch_end_ns = value; });
  fill(group.seq, [](InstanceRow& row, int64_t value) { row.seq = value; });
  fill(group.bytes, [](InstanceRow& row, int64_t value) { row.bytes = value; });
  fill(group.step, [](InstanceRow& row, int64_t value) { row.step = value; });
  fill(group.graph_launch, [](InstanceRow& row, int64_t value) { row.graph_launch = value; });
  fill(group.graph_position, [](InstanceRow& row, int64_t value) { row.graph_position = value; });
  fill(group.comms_id, [](InstanceRow& row, int64_t value) { row.comms_id = static_cast<uint64_t>(value); });
  fill(group.name, [](InstanceRow& row, int64_t value) { row.name = static_cast<uint32_t>(value); });
  fill(group.stream, [](InstanceRow& row, int64_t value) { row.stream = static_cast<int32_t>(value); });
  fill(group.peer, [](InstanceRow& row, int64_t value) { row.peer = static_cast<int32_t>(value); });
  fill(group.root, [](InstanceRow& row, int64_t value) { row.root = static_cast<int32_t>(value); });
  fill(group.op, [](InstanceRow& row, int64_t value) { row.op = static_cast<CollectiveOp>(value); });
  fill(group.dtype, [](InstanceRow& row, int64_t value) { row.dtype = static_cast<DataType>(value); });
  fill(group.library, [](InstanceRow& row, int64_t value) { row.library = static_cast<CollectiveLibrary>(value); });
  fill(group.has_comms_id, [](InstanceRow& row, int64_t value) { row.has_comms_id = value != 0; });
  for (InstanceRow& row : rows) row.communicator = group.communicator;
}

void FillSegmentColumns(const CompactSegments& group, size_t first, std::span<InstanceRow> rows) {
  const auto fill = [&](const CompactNumbers& column, int64_t Segment::*member) {
    column.ForEach(first, rows.size(), [&](size_t k, int64_t value) { rows[k].segment.*member = value; });
  };
  fill(group.begin_ns, &Segment::begin_ns);
  fill(group.compute_ns, &Segment::compute_ns);
  fill(group.copy_ns, &Segment::copy_ns);
  fill(group.other_comm_ns, &Segment::other_comm_ns);
  fill(group.host_ns, &Segment::host_ns);
  fill(group.launch_ns, &Segment::launch_ns);
  fill(group.dependency_ns, &Segment::dependency_ns);
  fill(group.rest_ns, &Segment::rest_ns);
  fill(group.second_slack_ns, &Segment::second_slack_ns);
}

// The next rows of a group, in stretches that stay in the nearest cache.
void FillNext(const CompactGroup& group, RowCursor& next, std::span<InstanceRow> rows) {
  constexpr size_t kStretch = 64;
  const bool has_lists = !group.segment.tile_counts.all_zero() || !group.cover.piece_counts.all_zero();
  while (!rows.empty()) {
    const std::span<InstanceRow> some = rows.first(std::min(kStretch, rows.size()));
    FillColumns(group, next.row, some);
    FillSegmentColumns(group.segment, next.row, some);
    for (size_t k = 0; has_lists && k < some.size(); ++k) FillLists(group, next.row + k, next, some[k]);
    next.row += some.size();
    rows = rows.subspan(some.size());
  }
}

// Of each place the group whose row is there; empty where the rows of a group are not in the order of their places.
std::vector<uint32_t> GroupsByPlace(const InstanceGroups& all) {
  const std::vector<uint32_t> places = PlacesOf(all);
  std::vector<uint32_t> groups(all.rows);
  size_t first = 0;
  for (uint32_t g = 0; g < all.groups.size(); ++g) {
    const auto own = std::span(places).subspan(first, all.groups[g].rows);
    if (!std::is_sorted(own.begin(), own.end())) return {};
    for (const uint32_t place : own) groups[place] = g;
    first += own.size();
  }
  return groups;
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

struct RowPieces::Groups {
  std::vector<CompactGroup> groups;
  std::vector<RowCursor> next;     // of each group
  std::vector<uint32_t> by_place;  // group of each row
  size_t given = 0;
  size_t piece_rows = 0;
};

RowPieces::RowPieces() = default;
RowPieces::~RowPieces() = default;
RowPieces::RowPieces(RowPieces&&) noexcept = default;
RowPieces& RowPieces::operator=(RowPieces&&) noexcept = default;

RowPieces::RowPieces(std::vector<InstanceRow> rows) : rows_(std::move(rows)) {}

RowPieces::RowPieces(const InstanceGroups& all, size_t piece_rows) {
  constexpr size_t kFewOfGroup = 32;  // take more room as columns than as rows
  std::vector<uint32_t> by_place;
  if (all.rows > std::max(piece_rows, kFewOfGroup * all.groups.size())) by_place = GroupsByPlace(all);
  if (by_place.empty()) {
    rows_ = RowsOf(all);
    return;
  }
  rest_ = std::make_unique<Groups>();
  rest_->by_place = std::move(by_place);
  rest_->piece_rows = piece_rows;
  rest_->next.resize(all.groups.size());
  for (const InstanceGroup& group : all.groups) rest_->groups.emplace_back(group);
}

std::vector<InstanceRow> RowPieces::Next() {
  if (rest_ == nullptr) return std::exchange(rows_, {});
  const size_t n = std::min(rest_->piece_rows, rest_->by_place.size() - rest_->given);
  std::vector<InstanceRow> rows(n);
  const std::span<const uint32_t> groups = std::span(rest_->by_place).subspan(rest_->given, n);
  for (size_t first = 0; first < n;) {
    const uint32_t group = groups[first];
    size_t last = first + 1;
    while (last < n && groups[last] == group) ++last;
    FillNext(rest_->groups[group], rest_->next[group], std::span(rows).subspan(first, last - first));
    first = last;
  }
  rest_->given += n;
  if (rest_->given == rest_->by_place.size()) rest_ = nullptr;
  return rows;
}

bool RowPieces::done() const { return rest_ == nullptr && rows_.empty(); }

}  // namespace lockstep::codec
