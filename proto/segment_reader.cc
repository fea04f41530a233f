// Segments and covers of instance_group.h.
#include <numeric>

#include "analysis/model/row_values.h"
#include "proto/instance_group.h"

namespace lockstep::codec {
namespace {

using Segments = v1::SegmentColumns;
using Cover = v1::CoverColumns;

struct PartColumn {
  std::string_view name;
  int field;
  Numbers SegmentGroup::*numbers;
  int64_t fallback;
  Limits limits;
};
#define LOCKSTEP_PART(wire, number, fallback, ...) \
  {#wire, v1::SegmentColumns::number##FieldNumber, &SegmentGroup::wire, fallback, Limits __VA_ARGS__},
constexpr PartColumn kPartsRead[] = {LOCKSTEP_SEGMENT_PARTS(LOCKSTEP_PART)};
#undef LOCKSTEP_PART

// Number of list entries of each row, checked against what the list columns hold.
absl::StatusOr<Numbers> GetCounts(std::string_view what, std::vector<int64_t> deltas, size_t rows, int entries) {
  LOCKSTEP_ASSIGN_OR_RETURN(Numbers counts, GetNumbers(what, std::move(deltas), rows, 0, {0, entries}));
  const std::span<const int64_t> each = counts.stored();
  const int64_t sum = std::accumulate(each.begin(), each.end(), int64_t{0});
  if (sum != entries) {
    return absl::InvalidArgumentError(fmt::format("{}: counts add up to {} for {} entries", what, sum, entries));
  }
  return counts;
}

// A list column has exactly one entry for each of `entries`: none may be left out.
absl::StatusOr<std::vector<int64_t>> GetList(std::string_view what, std::vector<int64_t> deltas, int entries,
                                             Limits limits) {
  if (static_cast<int>(deltas.size()) != entries) {
    return absl::InvalidArgumentError(fmt::format("{}: {} entries, expected {}", what, deltas.size(), entries));
  }
  return GetColumn(what, std::move(deltas), static_cast<size_t>(entries), 0, limits);
}

// The tiles' lengths and what they lack of the whole.
absl::Status SumTiles(WireColumns& in, size_t rows, SegmentGroup* segment) {
  LOCKSTEP_ASSIGN_OR_RETURN(
      Numbers sums,
      GetNumbers("other_comm_correction_ns", in.TakeList(Segments::kOtherCommCorrectionNsFieldNumber), rows, 0, {}));
  if (!segment->tile_counts.is_one()) {
    std::vector<int64_t> each = std::move(sums).Take(rows);
    size_t next = 0;
    for (size_t i = 0; i < rows; ++i) {
      for (int64_t k = segment->tile_counts[i]; k > 0; --k)
        each[i] = WrapAdd(each[i], segment->tile_lengths_ns[next++]);
    }
    sums = Numbers(std::move(each));
  }
  if (!sums.is_one()) LOCKSTEP_RETURN_IF_ERROR(CheckRanges("segment.other_comm_ns", sums.stored(), kAmountLimits));
  segment->other_comm_ns = std::move(sums);
  return absl::OkStatus();
}

absl::Status ReadTiles(WireColumns& in, size_t rows, SegmentGroup* segment) {
  const int entries = in.ListSize(Segments::kTileInstanceFieldNumber);
  LOCKSTEP_ASSIGN_OR_RETURN(segment->tile_counts,
                            GetCounts("segment.tiles", in.TakeList(Segments::kTilesFieldNumber), rows, entries));
  LOCKSTEP_ASSIGN_OR_RETURN(
      segment->tile_instances,
      GetList("tile_instance", in.TakeList(Segments::kTileInstanceFieldNumber), entries, {0, kMaxLengthNs}));
  LOCKSTEP_ASSIGN_OR_RETURN(
      segment->tile_offsets_ns,
      GetList("tile_offset_ns", in.TakeList(Segments::kTileOffsetNsFieldNumber), entries, kAmountLimits));
  LOCKSTEP_ASSIGN_OR_RETURN(
      segment->tile_lengths_ns,
      GetList("tile_length_ns", in.TakeList(Segments::kTileLengthNsFieldNumber), entries, kAmountLimits));
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

absl::Status ReadBegins(WireColumns& in, InstanceGroup* group) {
  LOCKSTEP_ASSIGN_OR_RETURN(
      OptionalColumn begins,
      GetOptional("segment.begin_ns", in.TakeSparse(Segments::kBeginNsFieldNumber), group->rows, {}));
  begins.Transform(
      [group](size_t row, int64_t distance) { return WrapAdd(distance, row == 0 ? 0 : group->end_ns(row - 1)); });
  LOCKSTEP_RETURN_IF_ERROR(CheckRanges("segment.begin_ns", begins.values, kTimeLimits));
  group->segment.begin_ns = begins.Over(Numbers(kNoTime), group->rows);
  return absl::OkStatus();
}

absl::Status ReadSlacks(WireColumns& in, InstanceGroup* group) {
  LOCKSTEP_ASSIGN_OR_RETURN(
      Numbers told, GetNumbers("second_slack_ns", in.TakeList(Segments::kSecondSlackNsFieldNumber), group->rows, -1,
                               {-1, kMaxTimeNs}));
  LOCKSTEP_ASSIGN_OR_RETURN(
      OptionalColumn slacks,
      GetOptional("slack_gap_ns", in.TakeSparse(Segments::kSlackGapNsFieldNumber), group->rows, {}));
  slacks.Transform([group](size_t row, int64_t gap) { return WrapSub(group->SegmentLength(row), gap); });
  LOCKSTEP_RETURN_IF_ERROR(CheckRanges("segment.second_slack_ns", slacks.values, kAmountLimits));
  group->segment.second_slack_ns = slacks.Over(std::move(told), group->rows);
  return absl::OkStatus();
}

absl::Status ReadCompute(WireColumns& in, InstanceGroup* group) {
  SegmentGroup& segment = group->segment;
  LOCKSTEP_ASSIGN_OR_RETURN(
      Numbers compute,
      GetNumbers("compute_correction_ns", in.TakeList(Segments::kComputeCorrectionNsFieldNumber), group->rows, 0, {}));
  if (!segment.begin_ns.is_one()) {
    std::vector<int64_t> each = std::move(compute).Take(group->rows);
    for (size_t i = 0; i < group->rows; ++i) {
      if (segment.begin_ns[i] == kNoTime) continue;
      each[i] = WrapAdd(each[i], WrapSub(group->SegmentLength(i), segment.besides_compute_ns[i]));
    }
    compute = Numbers(std::move(each));
  }
  if (!compute.is_one()) LOCKSTEP_RETURN_IF_ERROR(CheckRanges("segment.compute_ns", compute.stored(), kAmountLimits));
  segment.compute_ns = std::move(compute);
  return absl::OkStatus();
}

// Of as many pieces as all rows have together.
absl::StatusOr<std::vector<int64_t>> GetPieces(std::string_view what, WireColumns& in, int field, size_t pieces) {
  constexpr Limits kPiece = {0, kMaxLengthNs};
  LOCKSTEP_ASSIGN_OR_RETURN(auto values, GetPacked(what, in, field, pieces, kPiece));
  if (values) return *std::move(values);
  return GetList(what, in.TakeList(field), static_cast<int>(pieces), kPiece);
}

// Work that goes on while an instance starts is the predecessor that its segment ends with.
void AddOverlaps(const InstanceGroup& group, std::vector<int64_t>* counts) {
  for (size_t i = 0; i < group.rows; ++i) {
    const int64_t slack = group.segment.second_slack_ns[i];
    (*counts)[i] += slack >= 0 && slack == group.SegmentLength(i) ? 1 : 0;
  }
}

// Returns how many pieces there are.
absl::StatusOr<size_t> ReadPieceCounts(WireColumns& in, InstanceGroup* group) {
  const size_t rows = group->rows;
  const int plain = in.ListSize(Cover::kLengthNsFieldNumber);
  const bool is_plain = plain > 0;
  const auto most = is_plain ? int64_t{plain} : static_cast<int64_t>(kPackedPiecesPerRow * rows);
  LOCKSTEP_ASSIGN_OR_RETURN(Numbers counts,
                            GetNumbers("cover.pieces", in, Cover::kPiecesFieldNumber, rows, 0, {-1, most}));
  if (in.Number(Cover::kTellsOverlapsFieldNumber) != 0) {
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

absl::Status ReadParts(WireColumns& segments, InstanceGroup* group) {
  for (const PartColumn& column : kPartsRead) {
    LOCKSTEP_ASSIGN_OR_RETURN(group->segment.*column.numbers, GetNumbers(column.name, segments, column.field,
                                                                         group->rows, column.fallback, column.limits));
  }
  LOCKSTEP_RETURN_IF_ERROR(ReadTiles(segments, group->rows, &group->segment));
  group->segment.besides_compute_ns = SumBesidesCompute(group->segment, group->rows);
  return absl::OkStatus();
}

absl::Status ReadSegments(WireColumns& segments, InstanceGroup* group) {
  LOCKSTEP_RETURN_IF_ERROR(ReadBegins(segments, group));
  LOCKSTEP_RETURN_IF_ERROR(ReadSlacks(segments, group));
  return ReadCompute(segments, group);
}

absl::Status ReadCovers(WireColumns& covers, InstanceGroup* group) {
  LOCKSTEP_ASSIGN_OR_RETURN(const size_t pieces, ReadPieceCounts(covers, group));
  LOCKSTEP_ASSIGN_OR_RETURN(group->cover.gaps_ns, GetPieces("cover.gap_ns", covers, Cover::kGapNsFieldNumber, pieces));
  LOCKSTEP_ASSIGN_OR_RETURN(group->cover.lengths_ns,
                            GetPieces("cover.length_ns", covers, Cover::kLengthNsFieldNumber, pieces));
  LOCKSTEP_ASSIGN_OR_RETURN(const Numbers from_end,
                            GetNumbers("cover.from_end", covers, Cover::kFromEndFieldNumber, pieces, 0, {0, 1}));
  return PlacePieces(from_end, group);
}

}  // namespace lockstep::codec
