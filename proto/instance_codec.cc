#include "proto/instance_codec.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "proto/column_codec.h"
#include "proto/segment_codec.h"

namespace lockstep {
namespace {

using codec::Column;
using codec::Limits;
using codec::Sparse;

constexpr Limits kTime = {-codec::kMaxTimeNs, codec::kMaxTimeNs};
constexpr Limits kInt32 = {INT32_MIN, INT32_MAX};
constexpr Limits kOrNone = {-1, codec::kAnyMax};

#define LOCKSTEP_INSTANCE(wire, fallback, ...) \
  LOCKSTEP_COLUMN(InstanceRow, v1::InstanceColumns, wire, wire, fallback, __VA_ARGS__)
constexpr Column<InstanceRow, v1::InstanceColumns> kColumns[] = {
    LOCKSTEP_INSTANCE(duration_ns, 0, {0, codec::kMaxLengthNs}),
    LOCKSTEP_INSTANCE(seq, kNoSeq, {}),
    LOCKSTEP_INSTANCE(bytes, kUnknownBytes, {kOrNone}),
    LOCKSTEP_INSTANCE(graph_launch, -1, {kOrNone}),
    LOCKSTEP_INSTANCE(graph_position, -1, {kOrNone}),
    LOCKSTEP_INSTANCE(name, 0, {0, kNoId - 1}),
    LOCKSTEP_INSTANCE(stream, -1, {kInt32}),
    LOCKSTEP_INSTANCE(peer, -1, {kInt32}),
    LOCKSTEP_INSTANCE(root, -1, {kInt32}),
    LOCKSTEP_INSTANCE(op, 0, {0, static_cast<int64_t>(CollectiveOp::kAllGatherV)}),
    LOCKSTEP_INSTANCE(dtype, 0, {0, static_cast<int64_t>(DataType::kComplex128)}),
    LOCKSTEP_INSTANCE(library, 0, {0, static_cast<int64_t>(CollectiveLibrary::kHccl)}),
};

auto OrderKey(const InstanceRow& row) { return std::tie(row.start_ns, row.stream, row.name, row.communicator); }
bool Before(const InstanceRow& a, const InstanceRow& b) { return OrderKey(a) < OrderKey(b); }

using RowPointers = std::vector<const InstanceRow*>;

// Calls put(value) with an optional column of the rows; nothing is sent when no row has a value.
template <typename Value, typename Mutable>
void PutOptional(const RowPointers& rows, Value value, Mutable mutable_column) {
  Sparse values(rows.size());
  bool any = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    values[i] = value(*rows[i]);
    any = any || values[i].has_value();
  }
  if (any) codec::PutSparse(values, mutable_column());
}

std::optional<int64_t> UnlessNone(int64_t value) {
  return value == INT64_MIN ? std::nullopt : std::optional<int64_t>(value);
}

std::optional<int64_t> LaunchLength(const InstanceRow& row) {
  if (row.launch_end_ns == kNoTime) return std::nullopt;
  return codec::WrapSub(row.launch_end_ns, row.launch_start_ns == kNoTime ? 0 : row.launch_start_ns);
}

void PutSparseColumns(const RowPointers& rows, v1::InstanceColumns* out) {
  PutOptional(
      rows, [](const InstanceRow& r) { return UnlessNone(r.launch_start_ns); },
      [out] { return out->mutable_launch_start_ns(); });
  PutOptional(rows, LaunchLength, [out] { return out->mutable_launch_end_ns(); });
  PutOptional(
      rows, [](const InstanceRow& r) { return UnlessNone(r.step); }, [out] { return out->mutable_step(); });
  const auto comms_id = [](const InstanceRow& r) {
    return r.has_comms_id ? std::optional<int64_t>(static_cast<int64_t>(r.comms_id)) : std::nullopt;
  };
  PutOptional(rows, comms_id, [out] { return out->mutable_comms_id(); });
}

// Starts as gaps: the rows of a communicator seldom overlap, and a gap varies less than a distance of starts. Less what
// is told of the gap anyhow, compute is left.
void PutStarts(const RowPointers& rows, v1::InstanceColumns* out) {
  std::vector<int64_t> gaps;
  gaps.reserve(rows.size());
  int64_t previous_end = 0;
  out->set_start_less_parts(true);
  for (const InstanceRow* row : rows) {
    gaps.push_back(codec::WrapSub(codec::WrapSub(row->start_ns, previous_end), codec::PartsBesidesCompute(*row)));
    previous_end = codec::WrapAdd(row->start_ns, row->duration_ns);
  }
  if (codec::PutPacked(gaps, v1::InstanceColumns::kStartNsFieldNumber, out->mutable_packed())) return;
  out->mutable_start_ns()->Assign(gaps.begin(), gaps.end());
}

// All rows are of one communicator; positions may be empty.
void EncodeGroup(const RowPointers& rows, std::span<const int64_t> positions, v1::InstanceColumns* out) {
  out->set_communicator(rows.front()->communicator);
  out->set_rows(static_cast<uint32_t>(rows.size()));
  codec::PutDeltas(positions, out->mutable_position());
  PutStarts(rows, out);
  codec::EncodeColumns<InstanceRow, v1::InstanceColumns>(kColumns, rows, out);
  PutSparseColumns(rows, out);
  codec::EncodeSegments(rows, out);
  codec::EncodeCovers(rows, out);
}

// After the durations and the parts of segments.
absl::Status GetStarts(const v1::InstanceColumns& in, std::span<InstanceRow> rows) {
  LOCKSTEP_ASSIGN_OR_RETURN(
      const auto packed,
      codec::GetPacked("start_ns", in.packed(), v1::InstanceColumns::kStartNsFieldNumber, rows.size(), {}));
  if (!packed && static_cast<size_t>(in.start_ns_size()) != rows.size()) {
    return absl::InvalidArgumentError(fmt::format("start_ns: {} entries for {} rows", in.start_ns_size(), rows.size()));
  }
  int64_t previous_end = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t gap = packed ? (*packed)[i] : in.start_ns(static_cast<int>(i));
    const int64_t parts = in.start_less_parts() ? codec::PartsBesidesCompute(rows[i]) : 0;
    const int64_t start = codec::WrapAdd(previous_end, codec::WrapAdd(gap, parts));
    LOCKSTEP_RETURN_IF_ERROR(codec::CheckRange("start_ns", start, kTime));
    rows[i].start_ns = start;
    previous_end = rows[i].end_ns();
  }
  return absl::OkStatus();
}

absl::Status GetLaunches(const v1::InstanceColumns& in, std::span<InstanceRow> rows) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Sparse starts,
                            codec::GetSparse("launch_start_ns", in.launch_start_ns(), rows.size(), kTime));
  LOCKSTEP_ASSIGN_OR_RETURN(const Sparse lengths,
                            codec::GetSparse("launch_end_ns", in.launch_end_ns(), rows.size(), {}));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (starts[i].has_value()) rows[i].launch_start_ns = *starts[i];
    if (!lengths[i].has_value()) continue;
    rows[i].launch_end_ns = codec::WrapAdd(starts[i].value_or(0), *lengths[i]);
    LOCKSTEP_RETURN_IF_ERROR(codec::CheckRange("launch_end_ns", rows[i].launch_end_ns, kTime));
  }
  return absl::OkStatus();
}

absl::Status GetStepsAndIds(const v1::InstanceColumns& in, std::span<InstanceRow> rows) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Sparse steps,
                            codec::GetSparse("step", in.step(), rows.size(), {kNoStep + 1, codec::kAnyMax}));
  LOCKSTEP_ASSIGN_OR_RETURN(const Sparse ids, codec::GetSparse("comms_id", in.comms_id(), rows.size(), {}));
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].step = steps[i].value_or(kNoStep);
    rows[i].has_comms_id = ids[i].has_value();
    rows[i].comms_id = static_cast<uint64_t>(ids[i].value_or(0));
  }
  return absl::OkStatus();
}

absl::Status GetPositions(const v1::InstanceColumns& in, UnpackedInstances* out) {
  LOCKSTEP_RETURN_IF_ERROR(codec::CheckLength("position", in.position_size(), out->rows.size()));
  const auto entries = static_cast<size_t>(in.position_size());
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<int64_t> positions,
                            codec::GetColumn("position", in.position(), entries, 0, {0, codec::kMaxRows - 1}));
  for (size_t i = 1; i < positions.size(); ++i) {
    if (positions[i] <= positions[i - 1]) return absl::InvalidArgumentError("position: not ascending");
  }
  out->positions.assign(positions.begin(), positions.end());
  return absl::OkStatus();
}

absl::StatusOr<UnpackedInstances> DecodeGroup(const v1::InstanceColumns& in) {
  LOCKSTEP_RETURN_IF_ERROR(codec::CheckRows("instances", in.rows()));
  UnpackedInstances out;
  out.rows.resize(in.rows());
  for (InstanceRow& row : out.rows) row.communicator = in.communicator();
  const std::span<InstanceRow> rows(out.rows);
  LOCKSTEP_RETURN_IF_ERROR((codec::DecodeColumns<InstanceRow, v1::InstanceColumns>(kColumns, in, rows)));
  LOCKSTEP_RETURN_IF_ERROR(codec::DecodeParts(in.segment(), rows));
  LOCKSTEP_RETURN_IF_ERROR(GetStarts(in, rows));
  LOCKSTEP_RETURN_IF_ERROR(GetPositions(in, &out));
  LOCKSTEP_RETURN_IF_ERROR(GetLaunches(in, rows));
  LOCKSTEP_RETURN_IF_ERROR(GetStepsAndIds(in, rows));
  LOCKSTEP_RETURN_IF_ERROR(codec::DecodeSegments(in.segment(), rows));
  LOCKSTEP_RETURN_IF_ERROR(codec::DecodeCovers(in.cover(), rows));
  return out;
}

absl::Status CheckOrder(const std::vector<InstanceRow>& rows) {
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].start_ns >= rows[i - 1].start_ns) continue;
    return absl::InvalidArgumentError(fmt::format("instances: row {} starts at {}, before row {} at {}", i,
                                                  rows[i].start_ns, i - 1, rows[i - 1].start_ns));
  }
  return absl::OkStatus();
}

// Row numbers by communicator.
std::map<uint32_t, std::vector<int64_t>> GroupRows(std::span<const InstanceRow> rows) {
  std::map<uint32_t, std::vector<int64_t>> groups;
  for (size_t i = 0; i < rows.size(); ++i) groups[rows[i].communicator].push_back(static_cast<int64_t>(i));
  return groups;
}

RowPointers Pick(std::span<const InstanceRow> rows, const std::vector<int64_t>& numbers) {
  RowPointers picked;
  picked.reserve(numbers.size());
  for (const int64_t number : numbers) picked.push_back(&rows[static_cast<size_t>(number)]);
  return picked;
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

void EncodeInstances(std::span<const InstanceRow> rows, v1::InstanceBlock* out) {
  const auto groups = GroupRows(rows);
  const bool restorable = groups.size() <= 1 || std::is_sorted(rows.begin(), rows.end(), Before);
  for (const auto& [communicator, numbers] : groups) {
    const std::span<const int64_t> positions = restorable ? std::span<const int64_t>() : std::span(numbers);
    EncodeGroup(Pick(rows, numbers), positions, out->add_communicators());
  }
}

absl::StatusOr<std::vector<InstanceRow>> DecodeInstances(const v1::InstanceBlock& in) {
  std::vector<UnpackedInstances> parts;
  uint64_t total = 0;
  bool positioned = false;
  for (const v1::InstanceColumns& group : in.communicators()) {
    total += group.rows();
    LOCKSTEP_RETURN_IF_ERROR(codec::CheckRange("instances", static_cast<int64_t>(total), {1, codec::kMaxRows}));
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

std::string PackInstances(std::span<const InstanceRow> rows) {
  v1::InstanceBlock block;
  EncodeInstances(rows, &block);
  return codec::PackToBytes(block);
}

absl::StatusOr<std::vector<InstanceRow>> UnpackInstances(std::string_view block) {
  v1::InstanceBlock message;
  LOCKSTEP_RETURN_IF_ERROR(codec::UnpackBytes("instances", block, codec::kMaxInstanceBytes, &message));
  return DecodeInstances(message);
}

absl::StatusOr<UnpackedInstances> UnpackCommunicator(std::string_view columns) {
  v1::InstanceColumns group;
  LOCKSTEP_RETURN_IF_ERROR(codec::UnpackBytes("instances", columns, codec::kMaxInstanceBytes, &group));
  LOCKSTEP_ASSIGN_OR_RETURN(UnpackedInstances out, DecodeGroup(group));
  LOCKSTEP_RETURN_IF_ERROR(CheckOrder(out.rows));
  return out;
}

absl::StatusOr<std::vector<InstanceRow>> JoinInstances(std::vector<UnpackedInstances> parts) {
  size_t total = 0;
  for (const UnpackedInstances& part : parts) total += part.rows.size();
  std::vector<InstanceRow> rows(total);
  std::vector<bool> taken(total, false);
  for (UnpackedInstances& part : parts) {
    for (size_t i = 0; i < part.rows.size(); ++i) {
      const size_t position = i < part.positions.size() ? part.positions[i] : total;
      if (position >= total || taken[position]) {
        return absl::InvalidArgumentError(
            fmt::format("position: {} of {} rows is missing, repeated or too large", position, total));
      }
      taken[position] = true;
      rows[position] = std::move(part.rows[i]);
    }
  }
  return rows;
}

}  // namespace lockstep
