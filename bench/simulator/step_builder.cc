#include "bench/simulator/step_builder.h"

#include <fmt/format.h>

#include <utility>

#include "analysis/base/check.h"

namespace lockstep {
namespace {

std::string_view NcclOpName(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllGather:
      return "AllGather";
    case CollectiveOp::kReduceScatter:
      return "ReduceScatter";
    default:
      return "AllReduce";
  }
}

std::string NewNcclName(CollectiveOp op, DataType dtype) {
  const std::string_view type = dtype == DataType::kFloat32 ? "f32" : "bf16";
  const std::string typed = op == CollectiveOp::kAllGather ? std::string() : fmt::format("_Sum_{}", type);
  return fmt::format("ncclDevKernel_{}{}_RING_LL", NcclOpName(op), typed);
}

std::string OldNcclName(CollectiveOp op, DataType dtype) {
  std::string_view type = dtype == DataType::kFloat32 ? "float" : "__nv_bfloat16";
  if (op == CollectiveOp::kAllGather) type = "int8_t";
  return fmt::format("ncclKernel_{}_RING_LL_Sum_{}", NcclOpName(op), type);
}

KernelShape NcclKernel(CollectiveOp op, DataType dtype, bool old_names, int64_t bytes) {
  KernelShape kernel;
  kernel.short_name = old_names ? OldNcclName(op, dtype) : NewNcclName(op, dtype);
  kernel.name = kernel.short_name +
                (old_names ? "(ncclDevComm*, unsigned long, ncclWork*)" : "(ncclDevKernelArgsStorage<4096ul>)");
  const int32_t channels = bytes < 64 * 1024 ? 4 : 24;
  kernel.shape = {.grid = {channels, 1, 1}, .block = {channels == 4 ? 288 : 544, 1, 1}};
  kernel.registers = 96;
  kernel.shared_memory = 103'808;
  return kernel;
}

}  // namespace

uint32_t StepBuilder::KernelIndex(const KernelShape& shape) {
  const auto& [grid, block] = shape.shape;
  const std::string key = fmt::format("{}\n{} {} {} {}", shape.name, grid[0], grid[1], grid[2], block[0]);
  const auto [place, added] = index_.emplace(key, static_cast<uint32_t>(kernels_->size()));
  if (added) kernels_->push_back(shape);
  return place->second;
}

void StepBuilder::Add(Op op) {
  op.host_before_ns = std::exchange(host_work_ns_, 0);
  step_.ops.push_back(op);
}

void StepBuilder::Kernel(const TimedKernel& kernel) {
  Add({.kind = OpKind::kKernel, .kernel = KernelIndex(kernel.shape), .device_ns = kernel.device_ns});
}

void StepBuilder::Collective(GroupKind group, CollectiveOp op, DataType dtype, int64_t bytes, bool compute_waits) {
  const Stream stream = StreamOf(group);
  const auto first = static_cast<uint32_t>(step_.ops.size());
  Add({.kind = OpKind::kEventRecord, .stream = Stream::kCompute, .group = group});
  Add({.kind = OpKind::kStreamWait, .stream = stream, .waits_for = Stream::kCompute, .group = group});
  Add({.kind = OpKind::kCollective,
       .stream = stream,
       .group = group,
       .collective = op,
       .dtype = dtype,
       .kernel = KernelIndex(NcclKernel(op, dtype, old_nccl_names_, bytes)),
       .first_of_call = first,
       .bytes = bytes});
  Add({.kind = OpKind::kEventRecord, .stream = stream, .group = group});
  if (compute_waits) Wait(stream);
}

void StepBuilder::Wait(Stream waits_for) {
  Add({.kind = OpKind::kStreamWait, .stream = Stream::kCompute, .waits_for = waits_for});
}

void StepBuilder::Copy(CopyKind kind, int64_t bytes, int64_t device_ns) {
  Add({.kind = OpKind::kMemcpy, .copy = kind, .bytes = bytes, .device_ns = device_ns});
}

void StepBuilder::Set(int64_t bytes, int64_t device_ns) {
  Add({.kind = OpKind::kMemset, .bytes = bytes, .device_ns = device_ns});
}

void StepBuilder::Sync() { Add({.kind = OpKind::kStreamSync}); }

void StepBuilder::BeginRange(std::string name) {
  open_ranges_.push_back(step_.ranges.size());
  step_.ranges.push_back({.name = std::move(name), .first_op = static_cast<uint32_t>(step_.ops.size())});
}

void StepBuilder::EndRange() {
  LOCKSTEP_CHECK(!open_ranges_.empty() && !step_.ops.empty());
  step_.ranges[open_ranges_.back()].last_op = static_cast<uint32_t>(step_.ops.size() - 1);
  open_ranges_.pop_back();
}

StepOps StepBuilder::Take() {
  LOCKSTEP_CHECK(open_ranges_.empty());
  return std::exchange(step_, {});
}

}  // namespace lockstep
