// Puts the ops of a step together; used by the programs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/simulator/step_program.h"

namespace lockstep {

// A kernel and how long it runs on a usual device.
struct TimedKernel {
  KernelShape shape;
  int64_t device_ns = 0;
};

class StepBuilder {
 public:
  // Kernels are added to `kernels`, equal names and shapes once.
  StepBuilder(std::vector<KernelShape>* kernels, bool old_nccl_names)
      : kernels_(kernels), old_nccl_names_(old_nccl_names) {}

  void Kernel(const TimedKernel& kernel);
  // A framework collective: the group's stream waits for the compute stream, the kernel is launched, and if
  // `compute_waits` the compute stream waits for it. Only for groups of two and more members.
  void Collective(GroupKind group, CollectiveOp op, DataType dtype, int64_t bytes, bool compute_waits);
  // The compute stream waits for all work so far of the other one.
  void Wait(Stream waits_for);
  void Copy(CopyKind kind, int64_t bytes, int64_t device_ns);
  void Set(int64_t bytes, int64_t device_ns);
  void Sync();
  // Host work before the next op.
  void HostWork(int64_t ns) { host_work_ns_ += ns; }
  void BeginRange(std::string name);
  void EndRange();

  [[nodiscard]] StepOps Take();

 private:
  void Add(Op op);
  uint32_t KernelIndex(const KernelShape& shape);
  std::vector<KernelShape>* kernels_;
  bool old_nccl_names_;
  std::map<std::string, uint32_t> index_;
  StepOps step_;
  std::vector<size_t> open_ranges_;
  int64_t host_work_ns_ = 0;
};

}  // namespace lockstep
