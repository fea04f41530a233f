#include "proto/segment_codec.h"

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
  const Segment& s = row.segment;
  if (s.begin_ns == kNoTime) return 0;
  int64_t left = WrapSub(row.start_ns, s.begin_ns);
  for (const int64_t part : {s.copy_ns, s.other_comm_ns, s.host_ns, s.launch_ns, s.dependency_ns, s.rest_ns}) {
    left = WrapSub(left, part);
  }
  return left;
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

absl::Status DecodeSegments(const v1::SegmentColumns& in, std::span<InstanceRow> rows) {
  LOCKSTEP_RETURN_IF_ERROR(GetBegins(in, rows));
  LOCKSTEP_RETURN_IF_ERROR((DecodeColumns<InstanceRow, v1::SegmentColumns>(kParts, in, rows)));
  LOCKSTEP_RETURN_IF_ERROR(GetSlacks(in, rows));
  LOCKSTEP_RETURN_IF_ERROR(GetTiles(in, rows));
  return GetCompute(in, rows);
}

void EncodeCovers(std::span<const InstanceRow* const> rows, v1::InstanceColumns* out) {
  std::vector<int64_t> counts, gaps, lengths;
  for (const InstanceRow* row : rows) {
    counts.push_back(static_cast<int64_t>(row->cover.size()));
    for (const auto& [gap, length] : row->cover) {
      gaps.push_back(gap);
      lengths.push_back(length);
    }
  }
  if (gaps.empty()) return;
  PutColumn(counts, 0, out->mutable_cover()->mutable_pieces());
  PutDeltas(gaps, out->mutable_cover()->mutable_gap_ns());
  PutDeltas(lengths, out->mutable_cover()->mutable_length_ns());
}

absl::Status DecodeCovers(const v1::CoverColumns& in, std::span<InstanceRow> rows) {
  const int entries = in.gap_ns_size();
  LOCKSTEP_ASSIGN_OR_RETURN(const auto counts, GetCounts("cover.pieces", in.pieces(), rows.size(), entries));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto gaps, GetList("cover.gap_ns", in.gap_ns(), entries, {0, kMaxLengthNs}));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto lengths, GetList("cover.length_ns", in.length_ns(), entries, {0, kMaxLengthNs}));
  size_t next = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    int64_t left = rows[i].duration_ns;
    for (int64_t k = 0; k < counts[i]; ++k, ++next) {
      if (gaps[next] > left || lengths[next] > left - gaps[next]) {
        return absl::InvalidArgumentError(
            fmt::format("cover: piece {} of row {} reaches beyond the instance's {} ns", k, i, rows[i].duration_ns));
      }
      left -= gaps[next] + lengths[next];
      rows[i].cover.emplace_back(gaps[next], lengths[next]);
    }
  }
  return absl::OkStatus();
}

}  // namespace lockstep::codec
