#include "tests/support/codec/reference_instances.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"
#include "proto/column_codec.h"

namespace lockstep::reference {
namespace {

using codec::CheckLength;
using codec::CheckRange;
using codec::CheckRows;
using codec::Ints;
using codec::kAnyMax;
using codec::kMaxLengthNs;
using codec::kMaxRows;
using codec::kMaxTimeNs;
using codec::Limits;
using codec::PackedColumns;
using codec::Sparse;
using codec::WrapAdd;
using codec::WrapSub;

constexpr Limits kTime = {-kMaxTimeNs, kMaxTimeNs};
constexpr Limits kLength = {0, kMaxTimeNs};
constexpr Limits kInt32 = {INT32_MIN, INT32_MAX};
constexpr Limits kOrNone = {-1, kAnyMax};

// ---- columns, number by number ----

// What SparseColumn::coding predicts of values[i] from the values before it.
int64_t Predicted(std::span<const int64_t> values, size_t i, uint32_t coding) {
  if (coding == 1 || i == 0) return 0;
  if (coding == 0 || i <= coding) return values[i - 1];
  return WrapAdd(values[i - 1], WrapSub(values[i - coding], values[i - coding - 1]));
}

// The low bits of entry i; the string was checked to be long enough.
uint64_t LowBits(const std::string& packed, uint32_t low_bits, size_t i) {
  uint64_t low = 0;
  for (uint32_t k = 0; k < low_bits; ++k) {
    const size_t bit = i * low_bits + k;
    low |= static_cast<uint64_t>(static_cast<unsigned char>(packed[bit / 8]) >> (bit % 8) & 1) << k;
  }
  return low;
}

absl::Status CheckPrediction(std::string_view what, const v1::SparseColumn& in) {
  LOCKSTEP_RETURN_IF_ERROR(CheckRange(fmt::format("{}: coding", what), in.coding(), {0, 65'536}));
  LOCKSTEP_RETURN_IF_ERROR(CheckRange(fmt::format("{}: low_bits", what), in.low_bits(), {0, 24}));
  if (in.unit() > uint64_t{1} << 32)
    return absl::InvalidArgumentError(fmt::format("{}: unit {} is too large", what, in.unit()));
  if (in.rests_size() != 0 && in.rests_size() != in.values_size()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} rests for {} values", what, in.rests_size(), in.values_size()));
  }
  const size_t bytes = (static_cast<size_t>(in.values_size()) * in.low_bits() + 7) / 8;
  if (in.lows().size() == bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: {} bytes of low bits, expected {}", what, in.lows().size(), bytes));
}

absl::StatusOr<std::vector<int64_t>> GetPredicted(std::string_view what, const v1::SparseColumn& in, Limits limits) {
  LOCKSTEP_RETURN_IF_ERROR(CheckPrediction(what, in));
  const uint64_t unit = in.unit() == 0 ? 1 : in.unit();
  std::vector<int64_t> values;
  values.reserve(static_cast<size_t>(in.values_size()));
  for (int i = 0; i < in.values_size(); ++i) {
    const auto at = static_cast<size_t>(i);
    const uint64_t number =
        (static_cast<uint64_t>(in.values(i)) << in.low_bits()) | LowBits(in.lows(), in.low_bits(), at);
    const uint64_t rest = in.rests_size() == 0 ? 0 : in.rests(i);
    const int64_t value = WrapAdd(Predicted(values, at, in.coding()), static_cast<int64_t>(number * unit + rest));
    LOCKSTEP_RETURN_IF_ERROR(CheckRange(what, value, limits));
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<std::vector<int64_t>> ReadColumn(std::string_view what, const Ints& in, size_t rows, int64_t fallback,
                                                Limits limits) {
  LOCKSTEP_RETURN_IF_ERROR(CheckLength(what, in.size(), rows));
  std::vector<int64_t> values(rows, fallback);
  int64_t value = 0;
  for (int i = 0; i < in.size(); ++i) {
    value = WrapAdd(value, in.Get(i));
    if (value < limits.min || value > limits.max) return CheckRange(what, value, limits);
    values[static_cast<size_t>(i)] = value;
  }
  return values;
}

absl::StatusOr<std::optional<std::vector<int64_t>>> ReadPacked(std::string_view what, const PackedColumns& packed,
                                                               uint32_t field, size_t rows, Limits limits) {
  const v1::PackedColumn* found = nullptr;
  for (const v1::PackedColumn& column : packed) {
    if (column.field() != field) continue;
    if (found != nullptr) return absl::InvalidArgumentError(fmt::format("{}: packed twice", what));
    found = &column;
  }
  if (found == nullptr) return std::optional<std::vector<int64_t>>();
  if (static_cast<size_t>(found->column().values_size()) != rows || found->column().runs_size() != 0) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} packed values for {} rows", what, found->column().values_size(), rows));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(std::vector<int64_t> values, GetPredicted(what, found->column(), limits));
  return std::optional(std::move(values));
}

absl::StatusOr<Sparse> ReadSparse(std::string_view what, const v1::SparseColumn& in, size_t rows, Limits limits) {
  LOCKSTEP_RETURN_IF_ERROR(CheckRange(fmt::format("{}: values", what), in.values_size(), {0, int64_t{kMaxRows}}));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<int64_t> present, GetPredicted(what, in, limits));
  Sparse values;
  values.reserve(rows);
  int taken = 0;
  for (int i = 0; i < in.runs_size(); ++i) {
    const uint32_t run = in.runs(i);
    const bool with = i % 2 == 1;
    const bool fits = run <= rows - values.size() && (run > 0 || i == 0);
    if (!fits || (with && run > static_cast<uint32_t>(in.values_size() - taken))) {
      return absl::InvalidArgumentError(fmt::format("{}: run {} of {} rows does not fit", what, i, run));
    }
    if (!with) values.resize(values.size() + run);
    for (uint32_t k = 0; with && k < run; ++k) {
      values.emplace_back(present[static_cast<size_t>(taken++)]);
    }
  }
  if ((in.runs_size() > 0 && values.size() != rows) || taken != in.values_size()) {
    return absl::InvalidArgumentError(fmt::format("{}: runs of {} rows for {}, {} of {} values used", what,
                                                  values.size(), rows, taken, in.values_size()));
  }
  values.resize(rows);
  return values;
}

// ---- rows of one communicator ----

template <typename Columns>
using PlainValues = const Ints& (Columns::*)() const;

// A column that may have been packed, set row by row.
template <typename Columns, typename Set>
absl::Status GetPlain(std::string_view what, const Columns& in, PlainValues<Columns> values, int field,
                      int64_t fallback, Limits limits, std::span<InstanceRow> rows, Set set) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto numbers,
                            ReadPacked(what, in.packed(), static_cast<uint32_t>(field), rows.size(), limits));
  if (!numbers) {
    LOCKSTEP_ASSIGN_OR_RETURN(numbers, ReadColumn(what, (in.*values)(), rows.size(), fallback, limits));
  }
  for (size_t i = 0; i < rows.size(); ++i) set(rows[i], (*numbers)[i]);
  return absl::OkStatus();
}

#define REFERENCE_COLUMN(Columns, wire, Number, member, fallback, ...)                                                 \
  LOCKSTEP_RETURN_IF_ERROR(                                                                                            \
      GetPlain(#wire, in, &v1::Columns::wire, v1::Columns::k##Number##FieldNumber, fallback, Limits __VA_ARGS__, rows, \
               [](InstanceRow& row, int64_t value) { row.member = static_cast<decltype(row.member)>(value); }))

absl::Status GetPlainColumns(const v1::InstanceColumns& in, std::span<InstanceRow> rows) {
  REFERENCE_COLUMN(InstanceColumns, duration_ns, DurationNs, duration_ns, 0, {0, kMaxLengthNs});
  REFERENCE_COLUMN(InstanceColumns, seq, Seq, seq, kNoSeq, {});
  REFERENCE_COLUMN(InstanceColumns, bytes, Bytes, bytes, kUnknownBytes, {kOrNone});
  REFERENCE_COLUMN(InstanceColumns, graph_launch, GraphLaunch, graph_launch, -1, {kOrNone});
  REFERENCE_COLUMN(InstanceColumns, graph_position, GraphPosition, graph_position, -1, {kOrNone});
  REFERENCE_COLUMN(InstanceColumns, name, Name, name, 0, {0, kNoId - 1});
  REFERENCE_COLUMN(InstanceColumns, stream, Stream, stream, -1, {kInt32});
  REFERENCE_COLUMN(InstanceColumns, peer, Peer, peer, -1, {kInt32});
  REFERENCE_COLUMN(InstanceColumns, root, Root, root, -1, {kInt32});
  REFERENCE_COLUMN(InstanceColumns, op, Op, op, 0, {0, 14});
  REFERENCE_COLUMN(InstanceColumns, dtype, Dtype, dtype, 0, {0, 17});
  REFERENCE_COLUMN(InstanceColumns, library, Library, library, 0, {0, 20});
  return absl::OkStatus();
}

absl::Status GetPartColumns(const v1::SegmentColumns& in, std::span<InstanceRow> rows) {
  REFERENCE_COLUMN(SegmentColumns, copy_ns, CopyNs, segment.copy_ns, 0, {kLength});
  REFERENCE_COLUMN(SegmentColumns, host_ns, HostNs, segment.host_ns, 0, {kLength});
  REFERENCE_COLUMN(SegmentColumns, launch_ns, LaunchNs, segment.launch_ns, 0, {kLength});
  REFERENCE_COLUMN(SegmentColumns, dependency_ns, DependencyNs, segment.dependency_ns, 0, {kLength});
  REFERENCE_COLUMN(SegmentColumns, rest_ns, RestNs, segment.rest_ns, 0, {kLength});
  return absl::OkStatus();
}

int64_t SumOfTiles(const Segment& segment) {
  int64_t sum = 0;
  for (const OtherCommTile& tile : segment.tiles) sum = WrapAdd(sum, tile.length_ns);
  return sum;
}

int64_t PartsBesidesCompute(const InstanceRow& row) {
  const Segment& s = row.segment;
  int64_t sum = 0;
  for (const int64_t part : {s.copy_ns, s.other_comm_ns, s.host_ns, s.launch_ns, s.dependency_ns, s.rest_ns}) {
    sum = WrapAdd(sum, part);
  }
  return sum;
}

// What the parts other than compute leave of the segment; 0 where there is no segment.
int64_t ComputeByIdentity(const InstanceRow& row) {
  const int64_t begin = row.segment.begin_ns;
  if (begin == kNoTime) return 0;
  return WrapSub(WrapSub(row.start_ns, begin), PartsBesidesCompute(row));
}

absl::Status GetBegins(const v1::SegmentColumns& in, std::span<InstanceRow> rows) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Sparse begins, ReadSparse("segment.begin_ns", in.begin_ns(), rows.size(), {}));
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

int64_t LengthOf(const InstanceRow& row) {
  return row.segment.begin_ns == kNoTime ? 0 : WrapSub(row.start_ns, row.segment.begin_ns);
}

absl::Status GetSlacks(const v1::SegmentColumns& in, std::span<InstanceRow> rows) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto told,
                            ReadColumn("second_slack_ns", in.second_slack_ns(), rows.size(), -1, {-1, kMaxTimeNs}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Sparse gaps, ReadSparse("slack_gap_ns", in.slack_gap_ns(), rows.size(), {}));
  for (size_t i = 0; i < rows.size(); ++i) {
    int64_t& slack = rows[i].segment.second_slack_ns;
    slack = gaps[i] ? WrapSub(LengthOf(rows[i]), *gaps[i]) : told[i];
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("segment.second_slack_ns", slack, {gaps[i] ? 0 : -1, kMaxTimeNs}));
  }
  return absl::OkStatus();
}

// Number of list entries of each row, checked against what the list columns hold.
absl::StatusOr<std::vector<int64_t>> GetCounts(std::string_view what, const Ints& in, size_t rows, int entries) {
  LOCKSTEP_ASSIGN_OR_RETURN(std::vector<int64_t> counts, ReadColumn(what, in, rows, 0, {0, entries}));
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
  return ReadColumn(what, in, static_cast<size_t>(entries), 0, limits);
}

// All pieces of all covers, one after the other.
struct CoverLists {
  std::vector<int64_t> gaps;
  std::vector<int64_t> lengths;
  std::vector<int64_t> from_end;
};

// Of as many pieces as all rows have together.
absl::StatusOr<std::vector<int64_t>> GetPieces(std::string_view what, const PackedColumns& packed, int field,
                                               const Ints& plain, size_t pieces, Limits limits) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto values, ReadPacked(what, packed, static_cast<uint32_t>(field), pieces, limits));
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
  const auto most = is_plain ? int64_t{in.length_ns_size()} : static_cast<int64_t>(16 * rows);
  LOCKSTEP_ASSIGN_OR_RETURN(
      auto counts, ReadPacked("cover.pieces", in.packed(), v1::CoverColumns::kPiecesFieldNumber, rows, {-1, most}));
  if (!counts) {
    LOCKSTEP_ASSIGN_OR_RETURN(counts, ReadColumn("cover.pieces", in.pieces(), rows, 0, {-1, most}));
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
                            ReadPacked("cover.from_end", in.packed(), Cover::kFromEndFieldNumber, pieces, {0, 1}));
  if (!from_end) {
    LOCKSTEP_ASSIGN_OR_RETURN(from_end, ReadColumn("cover.from_end", in.from_end(), pieces, 0, {0, 1}));
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
                            ReadColumn("other_comm_correction_ns", in.other_comm_correction_ns(), rows.size(), 0, {}));
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
                            ReadColumn("compute_correction_ns", in.compute_correction_ns(), rows.size(), 0, {}));
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].segment.compute_ns = WrapAdd(ComputeByIdentity(rows[i]), corrections[i]);
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("segment.compute_ns", rows[i].segment.compute_ns, kLength));
  }
  return absl::OkStatus();
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

// After the durations and the parts of segments.
absl::Status GetStarts(const v1::InstanceColumns& in, std::span<InstanceRow> rows) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto packed, ReadPacked("start_ns", in.packed(),
                                                          v1::InstanceColumns::kStartNsFieldNumber, rows.size(), {}));
  if (!packed && static_cast<size_t>(in.start_ns_size()) != rows.size()) {
    return absl::InvalidArgumentError(fmt::format("start_ns: {} entries for {} rows", in.start_ns_size(), rows.size()));
  }
  int64_t previous_end = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t gap = packed ? (*packed)[i] : in.start_ns(static_cast<int>(i));
    const int64_t parts = in.start_less_parts() ? PartsBesidesCompute(rows[i]) : 0;
    const int64_t start = WrapAdd(previous_end, WrapAdd(gap, parts));
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("start_ns", start, kTime));
    rows[i].start_ns = start;
    previous_end = rows[i].end_ns();
  }
  return absl::OkStatus();
}

absl::Status GetLaunches(const v1::InstanceColumns& in, std::span<InstanceRow> rows) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Sparse starts,
                            ReadSparse("launch_start_ns", in.launch_start_ns(), rows.size(), kTime));
  LOCKSTEP_ASSIGN_OR_RETURN(const Sparse lengths, ReadSparse("launch_end_ns", in.launch_end_ns(), rows.size(), {}));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (starts[i].has_value()) rows[i].launch_start_ns = *starts[i];
    if (!lengths[i].has_value()) continue;
    rows[i].launch_end_ns = WrapAdd(starts[i].value_or(0), *lengths[i]);
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("launch_end_ns", rows[i].launch_end_ns, kTime));
  }
  return absl::OkStatus();
}

absl::Status GetStepsAndIds(const v1::InstanceColumns& in, std::span<InstanceRow> rows) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Sparse steps, ReadSparse("step", in.step(), rows.size(), {kNoStep + 1, kAnyMax}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Sparse ids, ReadSparse("comms_id", in.comms_id(), rows.size(), {}));
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].step = steps[i].value_or(kNoStep);
    rows[i].has_comms_id = ids[i].has_value();
    rows[i].comms_id = static_cast<uint64_t>(ids[i].value_or(0));
  }
  return absl::OkStatus();
}

absl::Status GetPositions(const v1::InstanceColumns& in, UnpackedInstances* out) {
  LOCKSTEP_RETURN_IF_ERROR(CheckLength("position", in.position_size(), out->rows.size()));
  const auto entries = static_cast<size_t>(in.position_size());
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<int64_t> positions,
                            ReadColumn("position", in.position(), entries, 0, {0, kMaxRows - 1}));
  for (size_t i = 1; i < positions.size(); ++i) {
    if (positions[i] <= positions[i - 1]) return absl::InvalidArgumentError("position: not ascending");
  }
  out->positions.assign(positions.begin(), positions.end());
  return absl::OkStatus();
}

absl::StatusOr<UnpackedInstances> DecodeGroup(const v1::InstanceColumns& in) {
  LOCKSTEP_RETURN_IF_ERROR(CheckRows("instances", in.rows()));
  UnpackedInstances out;
  out.rows.resize(in.rows());
  for (InstanceRow& row : out.rows) row.communicator = in.communicator();
  const std::span<InstanceRow> rows(out.rows);
  LOCKSTEP_RETURN_IF_ERROR(GetPlainColumns(in, rows));
  LOCKSTEP_RETURN_IF_ERROR(GetPartColumns(in.segment(), rows));
  LOCKSTEP_RETURN_IF_ERROR(GetTiles(in.segment(), rows));
  LOCKSTEP_RETURN_IF_ERROR(GetStarts(in, rows));
  LOCKSTEP_RETURN_IF_ERROR(GetPositions(in, &out));
  LOCKSTEP_RETURN_IF_ERROR(GetLaunches(in, rows));
  LOCKSTEP_RETURN_IF_ERROR(GetStepsAndIds(in, rows));
  LOCKSTEP_RETURN_IF_ERROR(GetBegins(in.segment(), rows));
  LOCKSTEP_RETURN_IF_ERROR(GetSlacks(in.segment(), rows));
  LOCKSTEP_RETURN_IF_ERROR(GetCompute(in.segment(), rows));
  LOCKSTEP_RETURN_IF_ERROR(DecodeCovers(in.cover(), rows));
  return out;
}

// ---- the batch ----

auto OrderKey(const InstanceRow& row) { return std::tie(row.start_ns, row.stream, row.name, row.communicator); }
bool Before(const InstanceRow& a, const InstanceRow& b) { return OrderKey(a) < OrderKey(b); }

absl::Status CheckOrder(const std::vector<InstanceRow>& rows) {
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].start_ns >= rows[i - 1].start_ns) continue;
    return absl::InvalidArgumentError(fmt::format("instances: row {} starts at {}, before row {} at {}", i,
                                                  rows[i].start_ns, i - 1, rows[i - 1].start_ns));
  }
  return absl::OkStatus();
}

// Groups come ascending by communicator, each sorted: a stable sort by key restores what the encoder verified.
std::vector<InstanceRow> MergeByKey(std::vector<UnpackedInstances> parts) {
  std::vector<InstanceRow> rows;
  for (UnpackedInstances& part : parts) {
    rows.insert(rows.end(), std::make_move_iterator(part.rows.begin()), std::make_move_iterator(part.rows.end()));
  }
  if (parts.size() > 1) std::stable_sort(rows.begin(), rows.end(), Before);
  return rows;
}

}  // namespace

absl::StatusOr<std::vector<InstanceRow>> DecodeInstances(const v1::InstanceBlock& in) {
  LOCKSTEP_RETURN_IF_ERROR(
      CheckRange("instances: communicators", in.communicators_size(), {0, int64_t{codec::kMaxGroups}}));
  std::vector<UnpackedInstances> parts;
  uint64_t total = 0;
  bool positioned = false;
  for (const v1::InstanceColumns& group : in.communicators()) {
    total += group.rows();
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("instances", static_cast<int64_t>(total), {1, kMaxRows}));
    LOCKSTEP_ASSIGN_OR_RETURN(UnpackedInstances part, DecodeGroup(group));
    if (part.rows.empty() || (!parts.empty() && parts.back().rows[0].communicator >= group.communicator())) {
      return absl::InvalidArgumentError("instances: communicators not ascending, or one without rows");
    }
    positioned = positioned || !part.positions.empty();
    parts.push_back(std::move(part));
  }
  std::vector<InstanceRow> rows;
  if (positioned) {
    LOCKSTEP_ASSIGN_OR_RETURN(rows, JoinInstances(std::move(parts)));
  } else {
    rows = MergeByKey(std::move(parts));
  }
  LOCKSTEP_RETURN_IF_ERROR(CheckOrder(rows));
  return rows;
}

}  // namespace lockstep::reference
