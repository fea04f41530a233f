#include "proto/segment_codec.h"

#include <numeric>

#include "proto/column_codec.h"

namespace lockstep::codec {
namespace {

constexpr Limits kTime = {-kMaxTimeNs, kMaxTimeNs};
constexpr Limits kLength = {0, kMaxTimeNs};

#define LOCKSTEP_SEGMENT(wire, fallback, ...) \
  LOCKSTEP_COLUMN(InstanceRow, v1::SegmentColumns, wire, segment.wire, fallback, __VA_ARGS__)
constexpr Column<InstanceRow, v1::SegmentColumns> kParts[] = {
    LOCKSTEP_SEGMENT(copy_ns, 0, {kLength}),   LOCKSTEP_SEGMENT(host_ns, 0, {kLength}),
    LOCKSTEP_SEGMENT(launch_ns, 0, {kLength}), LOCKSTEP_SEGMENT(dependency_ns, 0, {kLength}),
    LOCKSTEP_SEGMENT(rest_ns, 0, {kLength}),
};

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

absl::Status GetBegins(const v1::SegmentColumns& in, std::span<InstanceRow> rows) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Sparse begins, GetSparse("segment.begin_ns", in.begin_ns(), rows.size(), {}));
  int64_t previous_end = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (begins[i].has_value()) {
      const int64_t begin = WrapAdd(*begins[i], previous_end);
      LOCKSTEP_RETURN_IF_ERROR(CheckRange("segment.begin_ns", begin, kTime));
      rows[i].segment.begin_ns = begin;
    }
    previous_end = rows[i].end_ns();
  }
  return absl::OkStatus();
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

absl::Status GetSlacks(const v1::SegmentColumns& in, std::span<InstanceRow> rows) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto told,
                            GetColumn("second_slack_ns", in.second_slack_ns(), rows.size(), -1, {-1, kMaxTimeNs}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Sparse gaps, GetSparse("slack_gap_ns", in.slack_gap_ns(), rows.size(), {}));
  for (size_t i = 0; i < rows.size(); ++i) {
    int64_t& slack = rows[i].segment.second_slack_ns;
    slack = gaps[i] ? WrapSub(LengthOf(rows[i]), *gaps[i]) : told[i];
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("segment.second_slack_ns", slack, {gaps[i] ? 0 : -1, kMaxTimeNs}));
  }
  return absl::OkStatus();
}

// Number of list entries of each row, checked against what the list columns hold.
absl::StatusOr<std::vector<int64_t>> GetCounts(std::string_view what, const Ints& in, size_t rows, int entries) {
  LOCKSTEP_ASSIGN_OR_RETURN(std::vector<int64_t> counts, GetColumn(what, in, rows, 0, {0, entries}));
  int64_t sum = 0;
  for (const int64_t count : counts) sum += count;
  if (sum != entries) {
    return absl::InvalidArgumentError(fmt::format("{}: counts add up to {} for {} entries", what, sum, entries));
  }
  return counts;
}

// A list column has exactly one entry for each of `entries`: none may be left out.
absl::StatusOr<std::vector<int64_t>> GetList(std::string_view what, const Ints& in, int entries, Limits limits) {
  if (in.size() != entries) {
    return absl::InvalidArgumentError(fmt::format("{}: {} entries, expected {}", what, in.size(), entries));
  }
  return GetColumn(what, in, static_cast<size_t>(entries), 0, limits);
}

// All pieces of all covers, one after the other.
struct CoverLists {
  std::vector<int64_t> gaps;
  std::vector<int64_t> lengths;
  std::vector<int64_t> from_end;
};

// Packed pieces that are all alike take no room: so many a row, and what covers of more take is sent plainly.
constexpr size_t kPackedPiecesPerRow = 16;

void PutPieces(std::span<const int64_t> values, int field, size_t rows, Ints* plain, PackedColumns* packed) {
  const bool few = values.size() <= kPackedPiecesPerRow * rows;
  if (few && PutPacked(values, static_cast<uint32_t>(field), packed)) return;
  PutDeltas(values, plain);
}

// Of as many pieces as all rows have together.
absl::StatusOr<std::vector<int64_t>> GetPieces(std::string_view what, const PackedColumns& packed, int field,
                                               const Ints& plain, size_t pieces, Limits limits) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto values, GetPacked(what, packed, static_cast<uint32_t>(field), pieces, limits));
  if (values) return *std::move(values);
  return GetList(what, plain, static_cast<int>(pieces), limits);
}

// Work that goes on while an instance starts is the predecessor that its segment ends with.
int64_t ExpectedPieces(const InstanceRow& row) {
  const int64_t slack = row.segment.second_slack_ns;
  return slack >= 0 && slack == LengthOf(row) ? 1 : 0;
}

absl::StatusOr<std::vector<int64_t>> GetPieceCounts(const v1::CoverColumns& in, std::span<const InstanceRow> all) {
  const size_t rows = all.size();
  const bool is_plain = in.length_ns_size() > 0;
  const auto most = is_plain ? int64_t{in.length_ns_size()} : static_cast<int64_t>(kPackedPiecesPerRow * rows);
  LOCKSTEP_ASSIGN_OR_RETURN(
      auto counts, GetPacked("cover.pieces", in.packed(), v1::CoverColumns::kPiecesFieldNumber, rows, {-1, most}));
  if (!counts) {
    LOCKSTEP_ASSIGN_OR_RETURN(counts, GetColumn("cover.pieces", in.pieces(), rows, 0, {-1, most}));
  }
  for (size_t i = 0; i < rows; ++i) {
    (*counts)[i] += in.tells_overlaps() ? ExpectedPieces(all[i]) : 0;
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("cover.pieces", (*counts)[i], {0, most}));
  }
  const int64_t sum = std::accumulate(counts->begin(), counts->end(), int64_t{0});
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("cover.pieces: all", sum, {is_plain ? most : 0, most}));
  return *std::move(counts);
}

absl::StatusOr<CoverLists> GetCoverLists(const v1::CoverColumns& in, size_t pieces) {
  using Cover = v1::CoverColumns;
  const Limits length = {0, kMaxLengthNs};
  CoverLists lists;
  LOCKSTEP_ASSIGN_OR_RETURN(
      lists.gaps, GetPieces("cover.gap_ns", in.packed(), Cover::kGapNsFieldNumber, in.gap_ns(), pieces, length));
  LOCKSTEP_ASSIGN_OR_RETURN(lists.lengths, GetPieces("cover.length_ns", in.packed(), Cover::kLengthNsFieldNumber,
                                                     in.length_ns(), pieces, length));
  LOCKSTEP_ASSIGN_OR_RETURN(auto from_end,
                            GetPacked("cover.from_end", in.packed(), Cover::kFromEndFieldNumber, pieces, {0, 1}));
  if (!from_end) {
    LOCKSTEP_ASSIGN_OR_RETURN(from_end, GetColumn("cover.from_end", in.from_end(), pieces, 0, {0, 1}));
  }
  lists.from_end = *std::move(from_end);
  return lists;
}

absl::Status GetTiles(const v1::SegmentColumns& in, std::span<InstanceRow> rows) {
  const int entries = in.tile_instance_size();
  LOCKSTEP_ASSIGN_OR_RETURN(const auto counts, GetCounts("segment.tiles", in.tiles(), rows.size(), entries));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto instances,
                            GetList("tile_instance", in.tile_instance(), entries, {0, kMaxLengthNs}));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto offsets, GetList("tile_offset_ns", in.tile_offset_ns(), entries, kLength));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto lengths, GetList("tile_length_ns", in.tile_length_ns(), entries, kLength));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto corrections,
                            GetColumn("other_comm_correction_ns", in.other_comm_correction_ns(), rows.size(), 0, {}));
  size_t next = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    Segment& segment = rows[i].segment;
    for (int64_t k = 0; k < counts[i]; ++k, ++next) {
      segment.tiles.push_back({instances[next], offsets[next], lengths[next]});
    }
    segment.other_comm_ns = WrapAdd(SumOfTiles(segment), corrections[i]);
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("segment.other_comm_ns", segment.other_comm_ns, kLength));
  }
  return absl::OkStatus();
}

absl::Status GetCompute(const v1::SegmentColumns& in, std::span<InstanceRow> rows) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto corrections,
                            GetColumn("compute_correction_ns", in.compute_correction_ns(), rows.size(), 0, {}));
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].segment.compute_ns = WrapAdd(ComputeByIdentity(rows[i]), corrections[i]);
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("segment.compute_ns", rows[i].segment.compute_ns, kLength));
  }
  return absl::OkStatus();
}

}  // namespace

void EncodeSegments(std::span<const InstanceRow* const> rows, v1::InstanceColumns* out) {
  static const Segment kNone;
  bool any = false;
  for (const InstanceRow* row : rows) any = any || row->segment != kNone;
  if (!any) return;
  v1::SegmentColumns* columns = out->mutable_segment();
  PutBegins(rows, columns);
  EncodeColumns<InstanceRow, v1::SegmentColumns>(kParts, rows, columns);
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

absl::Status DecodeParts(const v1::SegmentColumns& in, std::span<InstanceRow> rows) {
  LOCKSTEP_RETURN_IF_ERROR((DecodeColumns<InstanceRow, v1::SegmentColumns>(kParts, in, rows)));
  return GetTiles(in, rows);
}

absl::Status DecodeSegments(const v1::SegmentColumns& in, std::span<InstanceRow> rows) {
  LOCKSTEP_RETURN_IF_ERROR(GetBegins(in, rows));
  LOCKSTEP_RETURN_IF_ERROR(GetSlacks(in, rows));
  return GetCompute(in, rows);
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
  using Cover = v1::CoverColumns;
  PackedColumns* const packed = cover->mutable_packed();
  if (!PutPacked(counts, Cover::kPiecesFieldNumber, packed)) PutColumn(counts, 0, cover->mutable_pieces());
  PutPieces(lists.gaps, Cover::kGapNsFieldNumber, rows.size(), cover->mutable_gap_ns(), packed);
  PutPieces(lists.lengths, Cover::kLengthNsFieldNumber, rows.size(), cover->mutable_length_ns(), packed);
  PutPieces(lists.from_end, Cover::kFromEndFieldNumber, rows.size(), cover->mutable_from_end(), packed);
}

absl::Status DecodeCovers(const v1::CoverColumns& in, std::span<InstanceRow> rows) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<int64_t> counts, GetPieceCounts(in, rows));
  const int64_t pieces = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  LOCKSTEP_ASSIGN_OR_RETURN(const CoverLists lists, GetCoverLists(in, static_cast<size_t>(pieces)));
  size_t next = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    int64_t left = rows[i].duration_ns;
    for (int64_t k = 0; k < counts[i]; ++k, ++next) {
      if (lists.gaps[next] > left || lists.lengths[next] > left - lists.gaps[next]) {
        return absl::InvalidArgumentError(
            fmt::format("cover: piece {} of row {} reaches beyond the instance's {} ns", k, i, rows[i].duration_ns));
      }
      left -= lists.gaps[next] + lists.lengths[next];
      const bool from_end = lists.from_end[next] != 0;
      rows[i].cover.emplace_back(from_end ? left : lists.gaps[next], lists.lengths[next]);
      if (from_end) left = lists.gaps[next];
    }
  }
  return absl::OkStatus();
}

}  // namespace lockstep::codec
