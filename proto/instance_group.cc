#include "proto/instance_group.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/model/row_values.h"

namespace lockstep::codec {
namespace {

using Columns = v1::InstanceColumns;

struct PlainColumn {
  std::string_view name;
  int field;
  Numbers InstanceGroup::*numbers;
  int64_t fallback;
  Limits limits;
};
#define LOCKSTEP_PLAIN(wire, number, fallback, ...) \
  {#wire, Columns::number##FieldNumber, &InstanceGroup::wire, fallback, Limits __VA_ARGS__},
constexpr PlainColumn kPlain[] = {LOCKSTEP_INSTANCE_COLUMNS(LOCKSTEP_PLAIN)};
#undef LOCKSTEP_PLAIN

absl::Status ReadPlain(WireColumns& in, InstanceGroup* group) {
  for (const PlainColumn& column : kPlain) {
    LOCKSTEP_ASSIGN_OR_RETURN(group->*column.numbers,
                              GetNumbers(column.name, in, column.field, group->rows, column.fallback, column.limits));
  }
  return absl::OkStatus();
}

// One a row, packed or as they are.
absl::StatusOr<std::vector<int64_t>> GetGaps(WireColumns& in, size_t rows) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto packed, GetPacked("start_ns", in, Columns::kStartNsFieldNumber, rows, {}));
  if (packed) return *std::move(packed);
  std::vector<int64_t> gaps = in.TakeList(Columns::kStartNsFieldNumber);
  if (gaps.size() == rows) return gaps;
  return absl::InvalidArgumentError(fmt::format("start_ns: {} entries for {} rows", gaps.size(), rows));
}

// After the durations and the parts of segments.
absl::Status ReadStarts(WireColumns& in, InstanceGroup* group) {
  LOCKSTEP_ASSIGN_OR_RETURN(group->start_ns, GetGaps(in, group->rows));
  const Numbers none;
  const Numbers& parts = in.Number(Columns::kStartLessPartsFieldNumber) != 0 ? group->segment.besides_compute_ns : none;
  int64_t previous_end = 0;
  for (size_t i = 0; i < group->rows; ++i) {
    int64_t& start = group->start_ns[i];
    start = WrapAdd(previous_end, WrapAdd(start, parts[i]));
    previous_end = WrapAdd(start, group->duration_ns[i]);
  }
  return CheckRanges("start_ns", group->start_ns, kTimeLimits);
}

absl::Status ReadPositions(WireColumns& in, InstanceGroup* group) {
  const int entries = in.ListSize(Columns::kPositionFieldNumber);
  LOCKSTEP_RETURN_IF_ERROR(CheckLength("position", entries, group->rows));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<int64_t> positions,
                            GetColumn("position", in.TakeList(Columns::kPositionFieldNumber),
                                      static_cast<size_t>(entries), 0, {0, kMaxRows - 1}));
  for (size_t i = 1; i < positions.size(); ++i) {
    if (positions[i] <= positions[i - 1]) return absl::InvalidArgumentError("position: not ascending");
  }
  group->positions.assign(positions.begin(), positions.end());
  return absl::OkStatus();
}

absl::Status ReadLaunches(WireColumns& in, InstanceGroup* group) {
  const size_t rows = group->rows;
  LOCKSTEP_ASSIGN_OR_RETURN(
      const OptionalColumn starts,
      GetOptional("launch_start_ns", in.TakeSparse(Columns::kLaunchStartNsFieldNumber), rows, kTimeLimits));
  LOCKSTEP_ASSIGN_OR_RETURN(OptionalColumn ends,
                            GetOptional("launch_end_ns", in.TakeSparse(Columns::kLaunchEndNsFieldNumber), rows, {}));
  group->launch_start_ns = starts.Over(Numbers(kNoTime), rows);
  ends.Transform([group](size_t row, int64_t length) {
    const int64_t start = group->launch_start_ns[row];
    return WrapAdd(start == kNoTime ? 0 : start, length);
  });
  LOCKSTEP_RETURN_IF_ERROR(CheckRanges("launch_end_ns", ends.values, kTimeLimits));
  group->launch_end_ns = ends.Over(Numbers(kNoTime), rows);
  return absl::OkStatus();
}

absl::Status ReadStepsAndIds(WireColumns& in, InstanceGroup* group) {
  const size_t rows = group->rows;
  LOCKSTEP_ASSIGN_OR_RETURN(const OptionalColumn steps, GetOptional("step", in.TakeSparse(Columns::kStepFieldNumber),
                                                                    rows, {kNoStep + 1, kAnyMax}));
  LOCKSTEP_ASSIGN_OR_RETURN(OptionalColumn ids,
                            GetOptional("comms_id", in.TakeSparse(Columns::kCommsIdFieldNumber), rows, {}));
  group->step = steps.Over(Numbers(kNoStep), rows);
  group->comms_id = ids.Over(Numbers(0), rows);
  ids.Transform([](size_t, int64_t) { return 1; });
  group->has_comms_id = ids.Over(Numbers(0), rows);
  return absl::OkStatus();
}

// The starts of all rows in their places.
absl::StatusOr<std::vector<int64_t>> Placed(const InstanceGroups& all) {
  std::vector<int64_t> starts(all.rows);
  std::vector<bool> taken(all.rows, false);
  for (const InstanceGroup& group : all.groups) {
    for (size_t i = 0; i < group.rows; ++i) {
      const size_t position = i < group.positions.size() ? group.positions[i] : all.rows;
      if (position >= all.rows || taken[position]) {
        return absl::InvalidArgumentError(
            fmt::format("position: {} of {} rows is missing, repeated or too large", position, all.rows));
      }
      taken[position] = true;
      starts[position] = group.start_ns[i];
    }
  }
  return starts;
}

// Rows of several communicators without positions are sorted anyhow.
absl::Status CheckPlaces(const InstanceGroups& all) {
  if (all.has_positions) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<int64_t> starts, Placed(all));
    return CheckOrder(starts);
  }
  return all.groups.size() == 1 ? CheckOrder(all.groups.front().start_ns) : absl::OkStatus();
}

// The messages of one communicator.
struct GroupColumns {
  WireColumns instances;
  WireColumns segments;
  WireColumns covers;

  // False: not as our writer gives it.
  bool Read(std::string_view bytes) {
    static const WireShape kInstances = ShapeOf(*Columns::descriptor());
    static const WireShape kSegments = ShapeOf(*v1::SegmentColumns::descriptor());
    static const WireShape kCovers = ShapeOf(*v1::CoverColumns::descriptor());
    return instances.Read(bytes, kInstances) &&
           segments.Read(instances.Message(Columns::kSegmentFieldNumber), kSegments) &&
           covers.Read(instances.Message(Columns::kCoverFieldNumber), kCovers);
  }
  [[nodiscard]] uint32_t rows() const { return instances.Number(Columns::kRowsFieldNumber); }
};

absl::StatusOr<InstanceGroup> GroupOf(GroupColumns in) {
  LOCKSTEP_RETURN_IF_ERROR(CheckRows("instances", in.rows()));
  InstanceGroup group;
  group.communicator = in.instances.Number(Columns::kCommunicatorFieldNumber);
  group.rows = in.rows();
  LOCKSTEP_RETURN_IF_ERROR(ReadPlain(in.instances, &group));
  LOCKSTEP_RETURN_IF_ERROR(ReadParts(in.segments, &group));
  LOCKSTEP_RETURN_IF_ERROR(ReadStarts(in.instances, &group));
  LOCKSTEP_RETURN_IF_ERROR(ReadPositions(in.instances, &group));
  LOCKSTEP_RETURN_IF_ERROR(ReadLaunches(in.instances, &group));
  LOCKSTEP_RETURN_IF_ERROR(ReadStepsAndIds(in.instances, &group));
  LOCKSTEP_RETURN_IF_ERROR(ReadSegments(in.segments, &group));
  LOCKSTEP_RETURN_IF_ERROR(ReadCovers(in.covers, &group));
  return group;
}

// Null, here and below: not as our writer gives it.
absl::StatusOr<std::optional<InstanceGroup>> TryGroup(std::string_view bytes) {
  GroupColumns columns;
  if (!columns.Read(bytes)) return std::nullopt;
  return GroupOf(std::move(columns));
}

absl::StatusOr<std::optional<InstanceGroups>> TryGroups(std::string_view bytes) {
  std::vector<std::string_view> parts;
  if (!codec::ReadParts(bytes, v1::InstanceBlock::kCommunicatorsFieldNumber, &parts)) return std::nullopt;
  LOCKSTEP_RETURN_IF_ERROR(
      CheckRange("instances: communicators", static_cast<int64_t>(parts.size()), {0, int64_t{kMaxGroups}}));
  InstanceGroups all;
  for (const std::string_view part : parts) {
    GroupColumns columns;
    if (!columns.Read(part)) return std::nullopt;
    all.rows += columns.rows();
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("instances", static_cast<int64_t>(all.rows), {1, kMaxRows}));
    LOCKSTEP_ASSIGN_OR_RETURN(InstanceGroup group, GroupOf(std::move(columns)));
    if (group.rows == 0 || (!all.groups.empty() && all.groups.back().communicator >= group.communicator)) {
      return absl::InvalidArgumentError("instances: communicators not ascending, or one without rows");
    }
    all.has_positions = all.has_positions || !group.positions.empty();
    all.groups.push_back(std::move(group));
  }
  LOCKSTEP_RETURN_IF_ERROR(CheckPlaces(all));
  return all;
}

// What our writer did not give, or what is refused, is read by the library, and given as our writer would: whether
// and why it is refused does not hang on its form.
template <typename Message, typename Result>
absl::StatusOr<Result> ReadAnyForm(absl::StatusOr<std::optional<Result>> (*read)(std::string_view),
                                   std::string_view bytes) {
  absl::StatusOr<std::optional<Result>> result = read(bytes);
  if (result.ok() && result->has_value()) return **std::move(result);
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    message.DiscardUnknownFields();
    const std::string plain = std::exchange(message, Message()).SerializeAsString();
    result = read(plain);
    LOCKSTEP_RETURN_IF_ERROR(result.status());
    if (result->has_value()) return **std::move(result);
  }
  return absl::InvalidArgumentError(
      fmt::format("instances: {} decoded bytes are no {}", bytes.size(), message.GetTypeName()));
}

}  // namespace

absl::Status CheckOrder(const std::vector<int64_t>& starts) {
  const auto back = std::is_sorted_until(starts.begin(), starts.end());
  if (back == starts.end()) return absl::OkStatus();
  const auto row = back - starts.begin();
  return absl::InvalidArgumentError(
      fmt::format("instances: row {} starts at {}, before row {} at {}", row, *back, row - 1, *(back - 1)));
}

absl::StatusOr<InstanceGroup> ReadGroup(std::string_view columns) {
  return ReadAnyForm<v1::InstanceColumns>(TryGroup, columns);
}

absl::StatusOr<InstanceGroups> ReadGroups(std::string_view block) {
  return ReadAnyForm<v1::InstanceBlock>(TryGroups, block);
}

absl::StatusOr<InstanceGroups> UnpackGroups(const v1::CompressedColumns& in) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string block,
                            Inflate("instances", in, kMaxInstanceBytes, *v1::InstanceBlock::descriptor()));
  return ReadGroups(block);
}

}  // namespace lockstep::codec
