#include "proto/instance_codec.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"
#include "proto/column_codec.h"
#include "proto/instance_group.h"
#include "proto/segment_codec.h"

namespace lockstep {
namespace {

using codec::Column;
using codec::InstanceGroup;
using codec::InstanceGroups;
using codec::Limits;
using codec::Sparse;

#define LOCKSTEP_INSTANCE(wire, number, fallback, ...) \
  LOCKSTEP_COLUMN(InstanceRow, v1::InstanceColumns, wire, wire, fallback, __VA_ARGS__),
constexpr Column<InstanceRow, v1::InstanceColumns> kColumns[] = {LOCKSTEP_INSTANCE_COLUMNS(LOCKSTEP_INSTANCE)};
#undef LOCKSTEP_INSTANCE

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

void PutOptionalColumns(const RowPointers& rows, v1::InstanceColumns* out) {
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
  PutOptionalColumns(rows, out);
  codec::EncodeSegments(rows, out);
  codec::EncodeCovers(rows, out);
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

absl::StatusOr<InstanceGroups> GroupsOf(std::string_view block) {
  LOCKSTEP_ASSIGN_OR_RETURN(const v1::CompressedColumns packed, codec::ParseCompressed("instances", block));
  return codec::UnpackGroups(packed);
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

absl::StatusOr<std::vector<InstanceRow>> DecodeInstances(std::string_view block) {
  LOCKSTEP_ASSIGN_OR_RETURN(const InstanceGroups groups, codec::ReadGroups(block));
  return codec::RowsOf(groups);
}

std::string PackInstances(std::span<const InstanceRow> rows) {
  v1::InstanceBlock block;
  EncodeInstances(rows, &block);
  return codec::PackToBytes(block);
}

absl::StatusOr<std::vector<InstanceRow>> UnpackInstances(std::string_view block) {
  LOCKSTEP_ASSIGN_OR_RETURN(const InstanceGroups groups, GroupsOf(block));
  return codec::RowsOf(groups);
}

absl::StatusOr<codec::RowPieces> UnpackInPieces(std::string_view block, size_t piece_rows) {
  LOCKSTEP_ASSIGN_OR_RETURN(const InstanceGroups groups, GroupsOf(block));
  return codec::RowPieces(groups, piece_rows);
}

absl::StatusOr<UnpackedInstances> UnpackCommunicator(std::string_view columns) {
  LOCKSTEP_ASSIGN_OR_RETURN(const v1::CompressedColumns packed, codec::ParseCompressed("instances", columns));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string bytes, codec::Inflate("instances", packed, codec::kMaxInstanceBytes,
                                                                    *v1::InstanceColumns::descriptor()));
  LOCKSTEP_ASSIGN_OR_RETURN(InstanceGroup group, codec::ReadGroup(bytes));
  LOCKSTEP_RETURN_IF_ERROR(codec::CheckOrder(group.start_ns));
  std::vector<InstanceRow> rows = codec::RowsOf(group);
  return UnpackedInstances{.rows = std::move(rows), .positions = std::move(group.positions)};
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
