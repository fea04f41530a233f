#include "proto/instance_group.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace lockstep::codec {
namespace {

constexpr Limits kTime = {-kMaxTimeNs, kMaxTimeNs};

struct PlainColumn {
  std::string_view name;
  int field;
  const Ints& (v1::InstanceColumns::*values)() const;
  Numbers InstanceGroup::*numbers;
  int64_t fallback;
  Limits limits;
};
#define LOCKSTEP_PLAIN(wire, number, fallback, ...) \
  {#wire,                                           \
   v1::InstanceColumns::number##FieldNumber,        \
   &v1::InstanceColumns::wire,                      \
   &InstanceGroup::wire,                            \
   fallback,                                        \
   Limits __VA_ARGS__},
constexpr PlainColumn kPlain[] = {LOCKSTEP_INSTANCE_COLUMNS(LOCKSTEP_PLAIN)};
#undef LOCKSTEP_PLAIN

absl::Status ReadPlain(const v1::InstanceColumns& in, InstanceGroup* group) {
  for (const PlainColumn& column : kPlain) {
    LOCKSTEP_ASSIGN_OR_RETURN(group->*column.numbers,
                              GetNumbers(column.name, in.packed(), column.field, (in.*column.values)(), group->rows,
                                         column.fallback, column.limits));
  }
  return absl::OkStatus();
}

// One a row, packed or as they are.
absl::StatusOr<std::vector<int64_t>> GetGaps(const v1::InstanceColumns& in, size_t rows) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto packed,
                            GetPacked("start_ns", in.packed(), v1::InstanceColumns::kStartNsFieldNumber, rows, {}));
  if (packed) return *std::move(packed);
  if (static_cast<size_t>(in.start_ns_size()) != rows) {
    return absl::InvalidArgumentError(fmt::format("start_ns: {} entries for {} rows", in.start_ns_size(), rows));
  }
  return std::vector<int64_t>(in.start_ns().begin(), in.start_ns().end());
}

// After the durations and the parts of segments.
absl::Status ReadStarts(const v1::InstanceColumns& in, InstanceGroup* group) {
  LOCKSTEP_ASSIGN_OR_RETURN(group->start_ns, GetGaps(in, group->rows));
  const Numbers none;
  const Numbers& parts = in.start_less_parts() ? group->segment.besides_compute_ns : none;
  int64_t previous_end = 0;
  for (size_t i = 0; i < group->rows; ++i) {
    int64_t& start = group->start_ns[i];
    start = WrapAdd(previous_end, WrapAdd(start, parts[i]));
    previous_end = WrapAdd(start, group->duration_ns[i]);
  }
  return CheckRanges("start_ns", group->start_ns, kTime);
}

absl::Status ReadPositions(const v1::InstanceColumns& in, InstanceGroup* group) {
  LOCKSTEP_RETURN_IF_ERROR(CheckLength("position", in.position_size(), group->rows));
  const auto entries = static_cast<size_t>(in.position_size());
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<int64_t> positions,
                            GetColumn("position", in.position(), entries, 0, {0, kMaxRows - 1}));
  for (size_t i = 1; i < positions.size(); ++i) {
    if (positions[i] <= positions[i - 1]) return absl::InvalidArgumentError("position: not ascending");
  }
  group->positions.assign(positions.begin(), positions.end());
  return absl::OkStatus();
}

absl::Status ReadLaunches(const v1::InstanceColumns& in, InstanceGroup* group) {
  const size_t rows = group->rows;
  LOCKSTEP_ASSIGN_OR_RETURN(const OptionalColumn starts,
                            GetOptional("launch_start_ns", in.launch_start_ns(), rows, kTime));
  LOCKSTEP_ASSIGN_OR_RETURN(OptionalColumn ends, GetOptional("launch_end_ns", in.launch_end_ns(), rows, {}));
  group->launch_start_ns = starts.Over(Numbers(kNoTime), rows);
  ends.Transform([group](size_t row, int64_t length) {
    const int64_t start = group->launch_start_ns[row];
    return WrapAdd(start == kNoTime ? 0 : start, length);
  });
  LOCKSTEP_RETURN_IF_ERROR(CheckRanges("launch_end_ns", ends.values, kTime));
  group->launch_end_ns = ends.Over(Numbers(kNoTime), rows);
  return absl::OkStatus();
}

absl::Status ReadStepsAndIds(const v1::InstanceColumns& in, InstanceGroup* group) {
  const size_t rows = group->rows;
  LOCKSTEP_ASSIGN_OR_RETURN(const OptionalColumn steps, GetOptional("step", in.step(), rows, {kNoStep + 1, kAnyMax}));
  LOCKSTEP_ASSIGN_OR_RETURN(OptionalColumn ids, GetOptional("comms_id", in.comms_id(), rows, {}));
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

// A message to parse a block into. It keeps its room for the thread's next one: making dozens of columns anew takes as
// long as reading them.
class KeptBlock {
 public:
  KeptBlock() { Kept().Clear(); }
  ~KeptBlock() {
    if (Kept().SpaceUsedLong() > kMostKept) Kept() = v1::InstanceBlock();
  }
  KeptBlock(const KeptBlock&) = delete;
  KeptBlock& operator=(const KeptBlock&) = delete;

  v1::InstanceBlock& operator*() { return Kept(); }

 private:
  static constexpr size_t kMostKept = size_t{4} << 20;

  static v1::InstanceBlock& Kept() {
    thread_local v1::InstanceBlock block;
    return block;
  }
};

}  // namespace

absl::Status CheckOrder(const std::vector<int64_t>& starts) {
  const auto back = std::is_sorted_until(starts.begin(), starts.end());
  if (back == starts.end()) return absl::OkStatus();
  const auto row = back - starts.begin();
  return absl::InvalidArgumentError(
      fmt::format("instances: row {} starts at {}, before row {} at {}", row, *back, row - 1, *(back - 1)));
}

absl::StatusOr<InstanceGroup> ReadGroup(const v1::InstanceColumns& in) {
  LOCKSTEP_RETURN_IF_ERROR(CheckRows("instances", in.rows()));
  InstanceGroup group;
  group.communicator = in.communicator();
  group.rows = in.rows();
  LOCKSTEP_RETURN_IF_ERROR(ReadPlain(in, &group));
  LOCKSTEP_RETURN_IF_ERROR(ReadParts(in.segment(), &group));
  LOCKSTEP_RETURN_IF_ERROR(ReadStarts(in, &group));
  LOCKSTEP_RETURN_IF_ERROR(ReadPositions(in, &group));
  LOCKSTEP_RETURN_IF_ERROR(ReadLaunches(in, &group));
  LOCKSTEP_RETURN_IF_ERROR(ReadStepsAndIds(in, &group));
  LOCKSTEP_RETURN_IF_ERROR(ReadSegments(in.segment(), &group));
  LOCKSTEP_RETURN_IF_ERROR(ReadCovers(in.cover(), &group));
  return group;
}

absl::StatusOr<InstanceGroups> ReadGroups(const v1::InstanceBlock& in) {
  InstanceGroups all;
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("instances: communicators", in.communicators_size(), {0, int64_t{kMaxGroups}}));
  for (const v1::InstanceColumns& columns : in.communicators()) {
    all.rows += columns.rows();
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("instances", static_cast<int64_t>(all.rows), {1, kMaxRows}));
    LOCKSTEP_ASSIGN_OR_RETURN(InstanceGroup group, ReadGroup(columns));
    if (group.rows == 0 || (!all.groups.empty() && all.groups.back().communicator >= group.communicator)) {
      return absl::InvalidArgumentError("instances: communicators not ascending, or one without rows");
    }
    all.has_positions = all.has_positions || !group.positions.empty();
    all.groups.push_back(std::move(group));
  }
  LOCKSTEP_RETURN_IF_ERROR(CheckPlaces(all));
  return all;
}

absl::StatusOr<InstanceGroups> UnpackGroups(const v1::CompressedColumns& in) {
  KeptBlock block;
  LOCKSTEP_RETURN_IF_ERROR(Unpack("instances", in, kMaxInstanceBytes, &*block));
  return ReadGroups(*block);
}

}  // namespace lockstep::codec
