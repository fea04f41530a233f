#include "proto/segment_codec.h"

#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"
#include "proto/column_codec.h"
#include "proto/instance_group.h"

namespace lockstep::codec {
namespace {

#define LOCKSTEP_SEGMENT(wire, number, fallback, ...) \
  LOCKSTEP_COLUMN(InstanceRow, v1::SegmentColumns, wire, segment.wire, fallback, __VA_ARGS__),
constexpr Column<InstanceRow, v1::SegmentColumns> kPartsWritten[] = {LOCKSTEP_SEGMENT_PARTS(LOCKSTEP_SEGMENT)};
#undef LOCKSTEP_SEGMENT

int64_t SumOfTiles(const Segment& segment) {
  int64_t sum = 0;
  for (const OtherCommTile& tile : segment.tiles) sum = WrapAdd(sum, tile.length_ns);
  return sum;
}

// What the parts other than compute leave of the segment; 0 where there is no segment.
int64_t ComputeByIdentity(const InstanceRow& row) {
  const int64_t begin = row.segment.begin_ns;
  if (begin == kNoTime) return 0;
  return WrapSub(WrapSub(row.start_ns, begin), PartsBesidesCompute(row));
}

void PutBegins(std::span<const InstanceRow* const> rows, v1::SegmentColumns* out) {
  Sparse begins(rows.size());
  bool any = false;
  int64_t previous_end = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t begin = rows[i]->segment.begin_ns;
    if (begin != kNoTime) begins[i] = WrapSub(begin, previous_end);
    any = any || begins[i].has_value();
    previous_end = WrapAdd(rows[i]->start_ns, rows[i]->duration_ns);
  }
  if (any) PutSparse(begins, out->mutable_begin_ns());
}

void PutTiles(std::span<const InstanceRow* const> rows, v1::SegmentColumns* out) {
  std::vector<int64_t> counts, instances, offsets, lengths, corrections;
  for (const InstanceRow* row : rows) {
    const Segment& segment = row->segment;
    counts.push_back(static_cast<int64_t>(segment.tiles.size()));
    corrections.push_back(WrapSub(segment.other_comm_ns, SumOfTiles(segment)));
    for (const OtherCommTile& tile : segment.tiles) {
      instances.push_back(tile.instance);
      offsets.push_back(tile.offset_ns);
      lengths.push_back(tile.length_ns);
    }
  }
  PutColumn(counts, 0, out->mutable_tiles());
  PutColumn(corrections, 0, out->mutable_other_comm_correction_ns());
  PutDeltas(instances, out->mutable_tile_instance());
  PutDeltas(offsets, out->mutable_tile_offset_ns());
  PutDeltas(lengths, out->mutable_tile_length_ns());
}

int64_t LengthOf(const InstanceRow& row) {
  return row.segment.begin_ns == kNoTime ? 0 : WrapSub(row.start_ns, row.segment.begin_ns);
}

void PutSlacks(std::span<const InstanceRow* const> rows, v1::SegmentColumns* out) {
  Sparse gaps(rows.size());
  bool any = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t slack = rows[i]->segment.second_slack_ns;
    if (slack >= 0) gaps[i] = WrapSub(LengthOf(*rows[i]), slack);
    any = any || gaps[i].has_value();
  }
  if (any) PutSparse(gaps, out->mutable_slack_gap_ns());
}

// All pieces of all covers, one after the other.
struct CoverLists {
  std::vector<int64_t> gaps;
  std::vector<int64_t> lengths;
  std::vector<int64_t> from_end;
};

void PutPieces(std::span<const int64_t> values, int field, size_t rows, Ints* plain, PackedColumns* packed) {
  const bool few = values.size() <= kPackedPiecesPerRow * rows;
  if (few && PutPacked(values, static_cast<uint32_t>(field), packed)) return;
  PutDeltas(values, plain);
}

// Work that goes on while an instance starts is the predecessor that its segment ends with.
int64_t ExpectedPieces(const InstanceRow& row) {
  const int64_t slack = row.segment.second_slack_ns;
  return slack >= 0 && slack == LengthOf(row) ? 1 : 0;
}

}  // namespace

void EncodeSegments(std::span<const InstanceRow* const> rows, v1::InstanceColumns* out) {
  static const Segment kNone;
  bool any = false;
  for (const InstanceRow* row : rows) any = any || row->segment != kNone;
  if (!any) return;
  v1::SegmentColumns* columns = out->mutable_segment();
  PutBegins(rows, columns);
  EncodeColumns<InstanceRow, v1::SegmentColumns>(kPartsWritten, rows, columns);
  PutSlacks(rows, columns);
  PutTiles(rows, columns);
  std::vector<int64_t> corrections;
  for (const InstanceRow* row : rows) {
    corrections.push_back(WrapSub(row->segment.compute_ns, ComputeByIdentity(*row)));
  }
  PutColumn(corrections, 0, columns->mutable_compute_correction_ns());
}

int64_t PartsBesidesCompute(const InstanceRow& row) {
  const Segment& s = row.segment;
  int64_t sum = 0;
  for (const int64_t part : {s.copy_ns, s.other_comm_ns, s.host_ns, s.launch_ns, s.dependency_ns, s.rest_ns}) {
    sum = WrapAdd(sum, part);
  }
  return sum;
}

void EncodeCovers(std::span<const InstanceRow* const> rows, v1::InstanceColumns* out) {
  std::vector<int64_t> counts;
  CoverLists lists;
  for (const InstanceRow* row : rows) {
    counts.push_back(static_cast<int64_t>(row->cover.size()) - ExpectedPieces(*row));
    int64_t left = row->duration_ns;
    for (const auto& [gap, length] : row->cover) {
      left = WrapSub(left, WrapAdd(gap, length));
      const bool from_end = left < gap;  // where the instance ends is known; kernels of both sides reach into it
      lists.gaps.push_back(from_end ? left : gap);
      lists.lengths.push_back(length);
      lists.from_end.push_back(from_end ? 1 : 0);
    }
  }
  if (lists.gaps.empty()) return;
  v1::CoverColumns* const cover = out->mutable_cover();
  cover->set_tells_overlaps(true);
  PackedColumns* const packed = cover->mutable_packed();
  if (!PutPacked(counts, v1::CoverColumns::kPiecesFieldNumber, packed)) PutColumn(counts, 0, cover->mutable_pieces());
  PutPieces(lists.gaps, v1::CoverColumns::kGapNsFieldNumber, rows.size(), cover->mutable_gap_ns(), packed);
  PutPieces(lists.lengths, v1::CoverColumns::kLengthNsFieldNumber, rows.size(), cover->mutable_length_ns(), packed);
  PutPieces(lists.from_end, v1::CoverColumns::kFromEndFieldNumber, rows.size(), cover->mutable_from_end(), packed);
}

}  // namespace lockstep::codec
