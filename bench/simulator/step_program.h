// What every rank does in a step, as data: an ordered list of calls that the host makes, each with what it starts on
// the device. Pure; the same values drive the simulation and the writers.
//
// The position of an op in its step is part of the key of its random numbers: an op that only some steps have stands at
// the end, so that the others keep their positions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/model/collective.h"
#include "analysis/model/trace_record.h"
#include "bench/simulator/cluster.h"

namespace lockstep {

struct KernelShape {
  std::string name;        // demangled, as both trace forms print it
  std::string short_name;  // base function name
  LaunchShape shape;
  int32_t registers = 32;
  int32_t shared_memory = 0;
  std::string host_op;  // the framework's operator that launches it ("aten::mm")
};

enum class OpKind : uint8_t { kKernel, kCollective, kMemcpy, kMemset, kEventRecord, kStreamWait, kStreamSync };

// Streams of a rank. Each group kind has its own, as torch's process groups do.
enum class Stream : uint8_t { kCompute = 0, kTp = 1, kDp = 2, kWorld = 3 };
inline constexpr size_t kStreams = 4;
// Stream ids as the traces show them.
[[nodiscard]] int32_t StreamNumber(Stream stream);
[[nodiscard]] Stream StreamOf(GroupKind group);

struct Op {
  OpKind kind = OpKind::kKernel;
  Stream stream = Stream::kCompute;
  Stream waits_for = Stream::kCompute;  // of kStreamWait: whose work so far
  GroupKind group = GroupKind::kTp;     // of kCollective
  CollectiveOp collective = CollectiveOp::kUnknown;
  DataType dtype = DataType::kUnknown;
  CopyKind copy = CopyKind::kUnknown;
  uint32_t kernel = 0;         // index into StepProgram::kernels (kKernel, kCollective)
  uint32_t first_of_call = 0;  // of kCollective: first op of the same framework call
  int64_t bytes = 0;           // message size per rank, or size of the copy
  int64_t device_ns = 0;       // length on a usual device; of a collective: latency apart from what its size costs
  int64_t host_before_ns = 0;  // host work before this call beyond the usual dispatch
};

// An annotated range of the host (NVTX range, user annotation), from before its first op's call to after its last
// one's.
struct OpRange {
  std::string name;
  uint32_t first_op = 0;
  uint32_t last_op = 0;
};

struct StepOps {
  std::vector<Op> ops;
  std::vector<OpRange> ranges;  // outer before inner
};

// Ops and kernels of all steps of all ranks. Every rank does the same here; a program whose ranks differ gives StepOf
// another answer per rank.
class StepProgram {
 public:
  virtual ~StepProgram() = default;
  [[nodiscard]] virtual const StepOps& StepOf(int32_t step, int32_t rank) const = 0;
  [[nodiscard]] const std::vector<KernelShape>& kernels() const { return kernels_; }

 protected:
  std::vector<KernelShape> kernels_;
};

// NCCL's kernel names changed with its versions: before 2.19 "ncclKernel_...", then "ncclDevKernel_...".
[[nodiscard]] bool OldNcclNames(const SimulatorOptions& options);

[[nodiscard]] std::unique_ptr<StepProgram> MakeDecodeProgram(const SimulatorOptions& options);
[[nodiscard]] std::unique_ptr<StepProgram> MakeTrainProgram(const SimulatorOptions& options);
[[nodiscard]] std::unique_ptr<StepProgram> MakeProgram(const SimulatorOptions& options);

}  // namespace lockstep
