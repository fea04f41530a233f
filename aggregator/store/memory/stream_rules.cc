#include "aggregator/store/memory/stream_rules.h"

#include <fmt/format.h>

#include <string_view>

#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

absl::Status Wrong(const Batch& batch, std::string_view what, int64_t value, int64_t limit) {
  return absl::InvalidArgumentError(
      fmt::format("batch {}: {} {}, expected below {}", batch.sequence, what, value, limit));
}

// Ids continue where the stream stands, without holes.
template <typename Rows>
absl::Status CheckDense(const Batch& batch, std::string_view what, const Rows& rows, int64_t next) {
  for (const auto& row : rows) {
    if (row.id != next) {
      return absl::InvalidArgumentError(
          fmt::format("batch {}: {} has id {}, expected {}", batch.sequence, what, row.id, next));
    }
    ++next;
  }
  return absl::OkStatus();
}

class References {
 public:
  References(const StreamState& state, const Batch& batch)
      : batch_(batch),
        names_(state.names + static_cast<int64_t>(batch.names.size())),
        communicators_(state.communicators + static_cast<int64_t>(batch.communicators.size())),
        instances_(state.instances + static_cast<int64_t>(batch.instances.size())) {}

  [[nodiscard]] absl::Status Name(std::string_view what, uint32_t id) const {
    return id < names_ ? absl::OkStatus() : Wrong(batch_, what, id, names_);
  }
  [[nodiscard]] absl::Status OptionalName(std::string_view what, uint32_t id) const {
    return id == kNoId ? absl::OkStatus() : Name(what, id);
  }
  [[nodiscard]] absl::Status Instance(const InstanceRow& row) const {
    if (row.communicator >= communicators_) {
      return Wrong(batch_, "communicator of an instance", row.communicator, communicators_);
    }
    for (const OtherCommTile& tile : row.segment.tiles) {
      if (tile.instance < 0 || tile.instance >= instances_) {
        return Wrong(batch_, "instance of a tile", tile.instance, instances_);
      }
    }
    return Name("name of an instance", row.name);
  }

 private:
  const Batch& batch_;
  int64_t names_;
  int64_t communicators_;
  int64_t instances_;
};

absl::Status CheckInstances(const StreamState& state, const Batch& batch, const References& known) {
  int64_t last = state.last_start_ns;
  for (const InstanceRow& row : batch.instances) {
    if (row.start_ns < last) {
      return absl::InvalidArgumentError(fmt::format(
          "batch {}: an instance starts at {}, before the one before it at {}", batch.sequence, row.start_ns, last));
    }
    last = row.start_ns;
    LOCKSTEP_RETURN_IF_ERROR(known.Instance(row));
  }
  return absl::OkStatus();
}

absl::Status CheckTables(const Batch& batch, const References& known) {
  for (const StepRow& row : batch.steps) {
    LOCKSTEP_RETURN_IF_ERROR(known.OptionalName("name of a step", row.name));
  }
  for (const KernelRow& row : batch.kernels) {
    LOCKSTEP_RETURN_IF_ERROR(known.Name("name of a kernel", row.name));
    LOCKSTEP_RETURN_IF_ERROR(known.OptionalName("mangled name of a kernel", row.mangled));
  }
  for (const StepKernelRow& row : batch.step_kernels) {
    LOCKSTEP_RETURN_IF_ERROR(known.Name("name of a step's kernel", row.name));
  }
  for (const ApiRow& row : batch.apis) LOCKSTEP_RETURN_IF_ERROR(known.Name("name of an API", row.name));
  for (const RangeRow& row : batch.ranges) {
    LOCKSTEP_RETURN_IF_ERROR(known.Name("name of a range", row.name));
    LOCKSTEP_RETURN_IF_ERROR(known.OptionalName("domain of a range", row.domain));
  }
  for (const LaunchRow& row : batch.launches) {
    LOCKSTEP_RETURN_IF_ERROR(known.Name("API of a launch", row.api));
    LOCKSTEP_RETURN_IF_ERROR(known.Name("kernel of a launch", row.kernel));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckBatch(const StreamState& state, const Batch& batch) {
  if (state.complete) {
    return absl::InvalidArgumentError(
        fmt::format("batch {}: the source is complete with {} batches", batch.sequence, state.next_sequence));
  }
  if (batch.total_batches.has_value() && *batch.total_batches != batch.sequence + 1) {
    return absl::InvalidArgumentError(
        fmt::format("batch {}: says that it is the last of {} batches", batch.sequence, *batch.total_batches));
  }
  LOCKSTEP_RETURN_IF_ERROR(CheckDense(batch, "a name", batch.names, state.names));
  LOCKSTEP_RETURN_IF_ERROR(CheckDense(batch, "a communicator", batch.communicators, state.communicators));
  const References known(state, batch);
  LOCKSTEP_RETURN_IF_ERROR(CheckInstances(state, batch, known));
  return CheckTables(batch, known);
}

StreamState After(const StreamState& state, const Batch& batch) {
  StreamState next = state;
  ++next.next_sequence;
  next.names += static_cast<int64_t>(batch.names.size());
  next.communicators += static_cast<int64_t>(batch.communicators.size());
  next.instances += static_cast<int64_t>(batch.instances.size());
  if (!batch.instances.empty()) next.last_start_ns = batch.instances.back().start_ns;
  next.complete = batch.total_batches.has_value();
  return next;
}

}  // namespace lockstep
