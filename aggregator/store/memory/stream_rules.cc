#include "aggregator/store/memory/stream_rules.h"

#include <fmt/format.h>

#include <string_view>

#include "analysis/base/status_macros.h"
#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"

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
  References(const StreamState& state, const ReceivedBatch& received)
      : batch_(received.batch),
        names_(state.names + static_cast<int64_t>(batch_.names.size())),
        communicators_(state.communicators + static_cast<int64_t>(batch_.communicators.size())),
        instances_(state.instances + received.instances.count) {}

  [[nodiscard]] absl::Status Name(std::string_view what, uint32_t id) const {
    return id < names_ ? absl::OkStatus() : Wrong(batch_, what, id, names_);
  }
  [[nodiscard]] absl::Status OptionalName(std::string_view what, uint32_t id) const {
    return id == kNoId ? absl::OkStatus() : Name(what, id);
  }
  [[nodiscard]] absl::Status Instances(const InstanceFacts& facts) const {
    if (facts.greatest_communicator >= communicators_) {
      return Wrong(batch_, "communicator of an instance", facts.greatest_communicator, communicators_);
    }
    if (facts.least_tile < 0) return Wrong(batch_, "instance of a tile", facts.least_tile, instances_);
    if (facts.greatest_tile >= instances_) return Wrong(batch_, "instance of a tile", facts.greatest_tile, instances_);
    return Name("name of an instance", facts.greatest_name);
  }

 private:
  const Batch& batch_;
  int64_t names_;
  int64_t communicators_;
  int64_t instances_;
};

absl::Status CheckInstances(const StreamState& state, const ReceivedBatch& received, const References& known) {
  const InstanceFacts& facts = received.instances;
  if (facts.count == 0) return absl::OkStatus();
  if (facts.first_start_ns < state.last_start_ns) {
    return absl::InvalidArgumentError(fmt::format("batch {}: an instance starts at {}, before the one before it at {}",
                                                  received.batch.sequence, facts.first_start_ns, state.last_start_ns));
  }
  if (!facts.ascending) {
    return absl::InvalidArgumentError(
        fmt::format("batch {}: an instance starts before the one before it", received.batch.sequence));
  }
  return known.Instances(facts);
}

absl::Status CheckTables(const Batch& batch, const References& known) {
  for (const StepRow& row : batch.steps) {
    LOCKSTEP_RETURN_IF_ERROR(known.OptionalName("name of a step", row.name));
  }
  for (const KernelRow& row : batch.kernels) {
    LOCKSTEP_RETURN_IF_ERROR(known.Name("name of a kernel", row.name));
    LOCKSTEP_RETURN_IF_ERROR(known.OptionalName("mangled name of a kernel", row.mangled));
    LOCKSTEP_RETURN_IF_ERROR(known.OptionalName("range around a kernel", row.range));
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

absl::Status CheckBatch(const StreamState& state, const ReceivedBatch& received) {
  const Batch& batch = received.batch;
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
  const References known(state, received);
  LOCKSTEP_RETURN_IF_ERROR(CheckInstances(state, received, known));
  return CheckTables(batch, known);
}

StreamState After(const StreamState& state, const ReceivedBatch& received) {
  const Batch& batch = received.batch;
  StreamState next = state;
  ++next.next_sequence;
  next.names += static_cast<int64_t>(batch.names.size());
  next.communicators += static_cast<int64_t>(batch.communicators.size());
  next.instances += received.instances.count;
  if (received.instances.count > 0) next.last_start_ns = received.instances.last_start_ns;
  next.complete = batch.total_batches.has_value();
  return next;
}

}  // namespace lockstep
