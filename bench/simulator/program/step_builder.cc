#include "bench/simulator/program/step_builder.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "analysis/base/check.h"
#include "bench/simulator/program/nccl_kernels.h"

namespace lockstep {
namespace {

constexpr int64_t kOwnKernelBytes = 8 << 20;  // larger all-reduces stay with NCCL's rings and trees

Transport TransportOf(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kTree:
      return Transport::kTree;
    case Algorithm::kNvls:
      return Transport::kNvls;
    case Algorithm::kRing:
      break;
  }
  return Transport::kRing;
}

CollectiveOp OpOfPair(int32_t send_to, int32_t receive_from) {
  if (send_to >= 0 && receive_from >= 0) return CollectiveOp::kSendRecv;
  return send_to >= 0 ? CollectiveOp::kSend : CollectiveOp::kRecv;
}

}  // namespace

StepBuilder::StepBuilder(std::vector<KernelShape>* kernels, const SimulatorOptions& options)
    : kernels_(kernels),
      options_(options),
      old_nccl_names_(OldNcclNames(options)),
      nccl_(TransportOf(options.algorithm)) {}

uint32_t StepBuilder::KernelIndex(const KernelShape& shape) {
  const auto& [grid, block] = shape.shape;
  const std::string key = fmt::format("{}\n{} {} {} {}", shape.name, grid[0], grid[1], grid[2], block[0]);
  const auto [place, added] = index_.emplace(key, static_cast<uint32_t>(kernels_->size()));
  if (added) kernels_->push_back(shape);
  return place->second;
}

void StepBuilder::Add(Op op) {
  op.host_before_ns = std::exchange(host_work_ns_, 0);
  op.in_graph = in_graph_;
  if (in_graph_) op.first_of_call = graph_launch_;
  step_.ops.push_back(op);
}

void StepBuilder::Kernel(const TimedKernel& kernel) {
  const double length = static_cast<double>(kernel.device_ns) * options_.model_scale;
  Add({.kind = OpKind::kKernel,
       .expert = kernel.expert,
       .kernel = KernelIndex(kernel.shape),
       .device_ns = std::llround(length)});
}

// `op` without stream and first_of_call. In a graph, and with kernels of the model's own, all is on one stream.
void StepBuilder::Communicate(Op op, bool compute_waits) {
  op.kind = OpKind::kCollective;
  if (in_graph_ || op.transport == Transport::kCustom || op.transport == Transport::kSymmetric) {
    op.first_of_call = static_cast<uint32_t>(step_.ops.size());
    return Add(op);
  }
  op.stream = StreamOf(op.group);
  op.first_of_call = static_cast<uint32_t>(step_.ops.size());
  Add({.kind = OpKind::kEventRecord, .stream = Stream::kCompute, .group = op.group});
  Add({.kind = OpKind::kStreamWait, .stream = op.stream, .waits_for = Stream::kCompute, .group = op.group});
  Add(op);
  Add({.kind = OpKind::kEventRecord, .stream = op.stream, .group = op.group});
  if (compute_waits) WaitFor(op.group);
}

void StepBuilder::Collective(GroupKind group, CollectiveOp op, DataType dtype, int64_t bytes, bool compute_waits) {
  Rooted(group, op, dtype, bytes, -1, compute_waits);
}

void StepBuilder::Rooted(GroupKind group, CollectiveOp op, DataType dtype, int64_t bytes, int32_t root,
                         bool compute_waits) {
  Communicate({.group = SharedKind(options_, group),
               .collective = op,
               .dtype = dtype,
               .transport = nccl_,
               .kernel = KernelIndex(CollectiveKernel(op, dtype, bytes, nccl_, old_nccl_names_, 0)),
               .root = root,
               .bytes = bytes},
              compute_waits);
}

Transport StepBuilder::TransportOfLayers(int64_t bytes) const {
  const bool one_host = options_.gpus_per_host % options_.tp == 0;
  if (!one_host || bytes > kOwnKernelBytes) return nccl_;
  switch (options_.all_reduce) {
    case AllReduceKind::kCustom:
      return Transport::kCustom;
    case AllReduceKind::kSymmetric:
      return Transport::kSymmetric;
    case AllReduceKind::kNccl:
      break;
  }
  return nccl_;
}

void StepBuilder::LayerAllReduce(int64_t bytes) {
  if (options_.tp < 2) return;
  const Transport transport = TransportOfLayers(bytes);
  const KernelShape kernel =
      CollectiveKernel(CollectiveOp::kAllReduce, DataType::kBfloat16, bytes, transport, old_nccl_names_, options_.tp);
  Communicate({.group = GroupKind::kTp,
               .collective = CollectiveOp::kAllReduce,
               .dtype = DataType::kBfloat16,
               .transport = transport,
               .early_start = transport == Transport::kSymmetric,
               .kernel = KernelIndex(kernel),
               .bytes = bytes},
              true);
}

void StepBuilder::PointToPoint(GroupKind group, int32_t send_to, int32_t receive_from, int64_t bytes) {
  LOCKSTEP_CHECK(send_to < 0 || receive_from < 0 || send_to == receive_from);
  const CollectiveOp op = OpOfPair(send_to, receive_from);
  Communicate(
      {.group = group,
       .collective = op,
       .dtype = DataType::kBfloat16,
       .kernel = KernelIndex(CollectiveKernel(op, DataType::kBfloat16, bytes, Transport::kRing, old_nccl_names_, 2)),
       .send_to = send_to,
       .receive_from = receive_from,
       .bytes = bytes},
      true);
}

void StepBuilder::TokenExchange(int64_t bytes, uint32_t exchange, bool returns) {
  constexpr CollectiveOp kOp = CollectiveOp::kAllToAllV;
  Communicate({.group = SharedKind(options_, GroupKind::kEp),
               .collective = kOp,
               .dtype = DataType::kBfloat16,
               .returns = returns,
               .kernel = KernelIndex(
                   CollectiveKernel(kOp, DataType::kBfloat16, bytes, Transport::kRing, old_nccl_names_, options_.ep)),
               .exchange = exchange,
               .bytes = bytes},
              true);
}

void StepBuilder::WaitFor(GroupKind group) {
  const Stream stream = StreamOf(SharedKind(options_, group));
  Add({.kind = OpKind::kStreamWait, .stream = Stream::kCompute, .waits_for = stream});
}

void StepBuilder::Copy(CopyKind kind, int64_t bytes, int64_t device_ns) {
  Add({.kind = OpKind::kMemcpy, .copy = kind, .bytes = bytes, .device_ns = device_ns});
}

void StepBuilder::Set(int64_t bytes, int64_t device_ns) {
  Add({.kind = OpKind::kMemset, .bytes = bytes, .device_ns = device_ns});
}

void StepBuilder::Sync() { Add({.kind = OpKind::kStreamSync}); }

void StepBuilder::BeginGraph() {
  graph_launch_ = static_cast<uint32_t>(step_.ops.size());
  Add({.kind = OpKind::kGraphLaunch});
  in_graph_ = true;
}

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
  LOCKSTEP_CHECK(open_ranges_.empty() && !in_graph_);
  return std::exchange(step_, {});
}

}  // namespace lockstep
