// Segments and covers of instance_group.h.
#include <numeric>

#include "proto/instance_group.h"

namespace lockstep::codec {
namespace {

constexpr Limits kTime = {-kMaxTimeNs, kMaxTimeNs};
constexpr Limits kLength = {0, kMaxTimeNs};

struct PartColumn {
  std::string_view name;
  int field;
  const Ints& (v1::SegmentColumns::*values)() const;
  Numbers SegmentGroup::*numbers;
  int64_t fallback;
  Limits limits;
};
#define LOCKSTEP_PART(wire, number, fallback, ...) \
  {#wire,                                          \
   v1::SegmentColumns::number##FieldNumber,        \
   &v1::SegmentColumns::wire,                      \
   &SegmentGroup::wire,                            \
   fallback,                                       \
   Limits __VA_ARGS__},
constexpr PartColumn kParts[] = {LOCKSTEP_SEGMENT_PARTS(LOCKSTEP_PART)};
#undef LOCKSTEP_PART

// Number of list entries of each row, checked against what the list columns hold.
absl::StatusOr<Numbers> GetCounts(std::string_view what, const Ints& in, size_t rows, int entries) {
  LOCKSTEP_ASSIGN_OR_RETURN(Numbers counts, GetNumbers(what, in, rows, 0, {0, entries}));
  const std::span<const int64_t> each = counts.stored();
  const int64_t sum = std::accumulate(each.begin(), each.end(), int64_t{0});
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

// The tiles' lengths and what they lack of the whole.
absl::Status SumTiles(const v1::SegmentColumns& in, size_t rows, SegmentGroup* segment) {
  LOCKSTEP_ASSIGN_OR_RETURN(Numbers sums,
                            GetNumbers("other_comm_correction_ns", in.other_comm_correction_ns(), rows, 0, {}));
  if (!segment->tile_counts.is_one()) {
    std::vector<int64_t> each = std::move(sums).Take(rows);
    size_t next = 0;
    for (size_t i = 0; i < rows; ++i) {
      for (int64_t k = segment->tile_counts[i]; k > 0; --k)
        each[i] = WrapAdd(each[i], segment->tile_lengths_ns[next++]);
    }
    sums = Numbers(std::move(each));
  }
  if (!sums.is_one()) LOCKSTEP_RETURN_IF_ERROR(CheckRanges("segment.other_comm_ns", sums.stored(), kLength));
  segment->other_comm_ns = std::move(sums);
  return absl::OkStatus();
}

absl::Status ReadTiles(const v1::SegmentColumns& in, size_t rows, SegmentGroup* segment) {
  const int entries = in.tile_instance_size();
  LOCKSTEP_ASSIGN_OR_RETURN(segment->tile_counts, GetCounts("segment.tiles", in.tiles(), rows, entries));
  LOCKSTEP_ASSIGN_OR_RETURN(segment->tile_instances,
                            GetList("tile_instance", in.tile_instance(), entries, {0, kMaxLengthNs}));
  LOCKSTEP_ASSIGN_OR_RETURN(segment->tile_offsets_ns, GetList("tile_offset_ns", in.tile_offset_ns(), entries, kLength));
  LOCKSTEP_ASSIGN_OR_RETURN(segment->tile_lengths_ns, GetList("tile_length_ns", in.tile_length_ns(), entries, kLength));
  return SumTiles(in, rows, segment);
}

Numbers SumBesidesCompute(const SegmentGroup& s, size_t rows) {
  std::vector<int64_t> sums;
  for (const Numbers* part : {&s.copy_ns, &s.other_comm_ns, &s.host_ns, &s.launch_ns, &s.dependency_ns, &s.rest_ns}) {
    if (part->is_one()) continue;  // a part that was left out is 0
    sums.resize(rows);
    for (size_t i = 0; i < rows; ++i) sums[i] = WrapAdd(sums[i], (*part)[i]);
  }
  return sums.empty() ? Numbers(0) : Numbers(std::move(sums));
}

absl::Status ReadBegins(const v1::SegmentColumns& in, InstanceGroup* group) {
  LOCKSTEP_ASSIGN_OR_RETURN(OptionalColumn begins, GetOptional("segment.begin_ns", in.begin_ns(), group->rows, {}));
  begins.Transform(
      [group](size_t row, int64_t distance) { return WrapAdd(distance, row == 0 ? 0 : group->end_ns(row - 1)); });
  LOCKSTEP_RETURN_IF_ERROR(CheckRanges("segment.begin_ns", begins.values, kTime));
  group->segment.begin_ns = begins.Over(Numbers(kNoTime), group->rows);
  return absl::OkStatus();
}

absl::Status ReadSlacks(const v1::SegmentColumns& in, InstanceGroup* group) {
  LOCKSTEP_ASSIGN_OR_RETURN(Numbers told,
                            GetNumbers("second_slack_ns", in.second_slack_ns(), group->rows, -1, {-1, kMaxTimeNs}));
  LOCKSTEP_ASSIGN_OR_RETURN(OptionalColumn slacks, GetOptional("slack_gap_ns", in.slack_gap_ns(), group->rows, {}));
  slacks.Transform([group](size_t row, int64_t gap) { return WrapSub(group->SegmentLength(row), gap); });
  LOCKSTEP_RETURN_IF_ERROR(CheckRanges("segment.second_slack_ns", slacks.values, kLength));
  group->segment.second_slack_ns = slacks.Over(std::move(told), group->rows);
  return absl::OkStatus();
}

absl::Status ReadCompute(const v1::SegmentColumns& in, InstanceGroup* group) {
  SegmentGroup& segment = group->segment;
  LOCKSTEP_ASSIGN_OR_RETURN(Numbers compute,
                            GetNumbers("compute_correction_ns", in.compute_correction_ns(), group->rows, 0, {}));
  if (!segment.begin_ns.is_one()) {
    std::vector<int64_t> each = std::move(compute).Take(group->rows);
    for (size_t i = 0; i < group->rows; ++i) {
      if (segment.begin_ns[i] == kNoTime) continue;
      each[i] = WrapAdd(each[i], WrapSub(group->SegmentLength(i), segment.besides_compute_ns[i]));
    }
    compute = Numbers(std::move(each));
  }
  if (!compute.is_one()) LOCKSTEP_RETURN_IF_ERROR(CheckRanges("segment.compute_ns", compute.stored(), kLength));
  segment.compute_ns = std::move(compute);
  return absl::OkStatus();
}

// Of as many pieces as all rows have together.
absl::StatusOr<std::vector<int64_t>> GetPieces(std::string_view what, const PackedColumns& packed, int field,
                                               const Ints& plain, size_t pieces) {
  constexpr Limits kPiece = {0, kMaxLengthNs};
  LOCKSTEP_ASSIGN_OR_RETURN(auto values, GetPacked(what, packed, field, pieces, kPiece));
  if (values) return *std::move(values);
  return GetList(what, plain, static_cast<int>(pieces), kPiece);
}

// Work that goes on while an instance starts is the predecessor that its segment ends with.
void AddOverlaps(const InstanceGroup& group, std::vector<int64_t>* counts) {
  for (size_t i = 0; i < group.rows; ++i) {
    const int64_t slack = group.segment.second_slack_ns[i];
    (*counts)[i] += slack >= 0 && slack == group.SegmentLength(i) ? 1 : 0;
  }
}

// Returns how many pieces there are.
absl::StatusOr<size_t> ReadPieceCounts(const v1::CoverColumns& in, InstanceGroup* group) {
  const size_t rows = group->rows;
  const bool is_plain = in.length_ns_size() > 0;
  const auto most = is_plain ? int64_t{in.length_ns_size()} : static_cast<int64_t>(kPackedPiecesPerRow * rows);
  LOCKSTEP_ASSIGN_OR_RETURN(
      Numbers counts,
      GetNumbers("cover.pieces", in.packed(), v1::CoverColumns::kPiecesFieldNumber, in.pieces(), rows, 0, {-1, most}));
  if (in.tells_overlaps()) {
    std::vector<int64_t> each = std::move(counts).Take(rows);
    AddOverlaps(*group, &each);
    counts = Numbers(std::move(each));
  }
  const std::span<const int64_t> each = counts.stored();
  LOCKSTEP_RETURN_IF_ERROR(CheckRanges("cover.pieces", each, {0, most}));
  const int64_t sum = std::accumulate(each.begin(), each.end(), int64_t{0});
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("cover.pieces: all", sum, {is_plain ? most : 0, most}));
  group->cover.piece_counts = std::move(counts);
  return static_cast<size_t>(sum);
}

// Lays the pieces into their instances, one after the other; a gap may have been counted from the end.
absl::Status PlacePieces(const Numbers& from_end, InstanceGroup* group) {
  CoverGroup& cover = group->cover;
  size_t next = 0;
  for (size_t i = 0; i < group->rows; ++i) {
    int64_t left = group->duration_ns[i];
    for (int64_t k = 0; k < cover.piece_counts[i]; ++k, ++next) {
      int64_t& gap = cover.gaps_ns[next];
      const int64_t length = cover.lengths_ns[next];
      if (gap > left || length > left - gap) {
        return absl::InvalidArgumentError(
            fmt::format("cover: piece {} of row {} reaches beyond the instance's {} ns", k, i, group->duration_ns[i]));
      }
      left -= gap + length;
      if (from_end[next] != 0) std::swap(gap, left);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadParts(const v1::SegmentColumns& in, InstanceGroup* group) {
  for (const PartColumn& column : kParts) {
    LOCKSTEP_ASSIGN_OR_RETURN(group->segment.*column.numbers,
                              GetNumbers(column.name, in.packed(), column.field, (in.*column.values)(), group->rows,
                                         column.fallback, column.limits));
  }
  LOCKSTEP_RETURN_IF_ERROR(ReadTiles(in, group->rows, &group->segment));
  group->segment.besides_compute_ns = SumBesidesCompute(group->segment, group->rows);
  return absl::OkStatus();
}

absl::Status ReadSegments(const v1::SegmentColumns& in, InstanceGroup* group) {
  LOCKSTEP_RETURN_IF_ERROR(ReadBegins(in, group));
  LOCKSTEP_RETURN_IF_ERROR(ReadSlacks(in, group));
  return ReadCompute(in, group);
}

absl::Status ReadCovers(const v1::CoverColumns& in, InstanceGroup* group) {
  using Cover = v1::CoverColumns;
  LOCKSTEP_ASSIGN_OR_RETURN(const size_t pieces, ReadPieceCounts(in, group));
  LOCKSTEP_ASSIGN_OR_RETURN(group->cover.gaps_ns,
                            GetPieces("cover.gap_ns", in.packed(), Cover::kGapNsFieldNumber, in.gap_ns(), pieces));
  LOCKSTEP_ASSIGN_OR_RETURN(group->cover.lengths_ns, GetPieces("cover.length_ns", in.packed(),
                                                               Cover::kLengthNsFieldNumber, in.length_ns(), pieces));
  LOCKSTEP_ASSIGN_OR_RETURN(
      const Numbers from_end,
      GetNumbers("cover.from_end", in.packed(), Cover::kFromEndFieldNumber, in.from_end(), pieces, 0, {0, 1}));
  return PlacePieces(from_end, group);
}

}  // namespace lockstep::codec
