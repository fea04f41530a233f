// Puts the ops of a step together; used by the programs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/simulator/program/step_program.h"

namespace lockstep {

// A kernel and how long it runs on a usual device.
struct TimedKernel {
  KernelShape shape;
  int64_t device_ns = 0;
  bool expert = false;  // work of a rank's experts
};

[[nodiscard]] constexpr LaunchShape GridOf(int32_t x, int32_t y, int32_t threads) {
  return {.grid = {x, y, 1}, .block = {threads, 1, 1}};
}

class StepBuilder {
 public:
  // Kernels are added to `kernels`, equal names and shapes once. The options say who does all-reduces, and how.
  StepBuilder(std::vector<KernelShape>* kernels, const SimulatorOptions& options);

  void Kernel(const TimedKernel& kernel);
  // A framework collective: the group's stream waits for the compute stream, the kernel is launched, and if
  // `compute_waits` the compute stream waits for it. Only for groups of two and more members.
  void Collective(GroupKind group, CollectiveOp op, DataType dtype, int64_t bytes, bool compute_waits);
  // The same from or to one member: a broadcast or a reduction. `root`: position in the group.
  void Rooted(GroupKind group, CollectiveOp op, DataType dtype, int64_t bytes, int32_t root, bool compute_waits);
  // The all-reduce inside a layer of a tensor-parallel model: small ones may be done by the model's own kernels, on the
  // compute stream.
  void LayerAllReduce(int64_t bytes);
  // Send, receive, or both in one kernel with the same peer; positions in the group, -1 = not. The compute stream
  // waits.
  void PointToPoint(GroupKind group, int32_t send_to, int32_t receive_from, int64_t bytes);
  // Tokens to the ranks of their experts, or back; `exchange` is equal for both ways. The compute stream waits.
  void TokenExchange(int64_t bytes, uint32_t exchange, bool returns);
  // The compute stream waits for all work so far of the group's stream.
  void WaitFor(GroupKind group);
  void Copy(CopyKind kind, int64_t bytes, int64_t device_ns);
  void Set(int64_t bytes, int64_t device_ns);
  void Sync();
  // The op added last is the last one of a layer.
  void EndLayer() { step_.ops.back().ends_layer = true; }
  // What comes in between is replayed by one launch, on the compute stream alone.
  void BeginGraph();
  void EndGraph() { in_graph_ = false; }
  // Host work before the next op.
  void HostWork(int64_t ns) { host_work_ns_ += ns; }
  void BeginRange(std::string name);
  void EndRange();

  [[nodiscard]] StepOps Take();

 private:
  void Add(Op op);
  void Communicate(Op op, bool compute_waits);
  [[nodiscard]] Transport TransportOfLayers(int64_t bytes) const;
  uint32_t KernelIndex(const KernelShape& shape);
  std::vector<KernelShape>* kernels_;
  const SimulatorOptions& options_;
  bool old_nccl_names_;
  Transport nccl_;
  std::map<std::string, uint32_t> index_;
  StepOps step_;
  std::vector<size_t> open_ranges_;
  int64_t host_work_ns_ = 0;
  bool in_graph_ = false;
  uint32_t graph_launch_ = 0;
};

}  // namespace lockstep
