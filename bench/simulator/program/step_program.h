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
#include "bench/simulator/cluster/cluster.h"

namespace lockstep {

struct KernelShape {
  std::string name;        // demangled, as both trace forms print it
  std::string short_name;  // base function name
  LaunchShape shape;
  int32_t registers = 32;
  int32_t shared_memory = 0;
  std::string host_op;  // the framework's operator that launches it ("aten::mm")
};

// Little work for each byte that it moves: norms, rotary embeddings, activations, elementwise kernels.
[[nodiscard]] bool MovesMemory(const KernelShape& kernel);

enum class OpKind : uint8_t {
  kKernel,
  kCollective,
  kMemcpy,
  kMemset,
  kEventRecord,
  kStreamWait,
  kStreamSync,
  kGraphLaunch,  // the ops after it that are `in_graph` run without further calls of the host
  kAllocate,
  kFree,
};

// Streams of a rank. Each group kind has its own, as torch's process groups do.
enum class Stream : uint8_t { kCompute = 0, kTp = 1, kDp = 2, kWorld = 3, kPp = 4, kEp = 5 };
inline constexpr size_t kStreams = 6;
// Stream ids as the traces show them.
[[nodiscard]] int32_t StreamNumber(Stream stream);
[[nodiscard]] Stream StreamOf(GroupKind group);

// How a communication kernel is done. The algorithms of NCCL differ in time only; the others also in what is traced.
enum class Transport : uint8_t { kRing, kTree, kNvls, kSymmetric, kCustom };

inline constexpr uint32_t kByPosition = UINT32_MAX;

struct Op {
  OpKind kind = OpKind::kKernel;
  Stream stream = Stream::kCompute;
  Stream waits_for = Stream::kCompute;  // of kStreamWait: whose work so far
  GroupKind group = GroupKind::kTp;     // of kCollective
  CollectiveOp collective = CollectiveOp::kUnknown;
  DataType dtype = DataType::kUnknown;
  CopyKind copy = CopyKind::kUnknown;
  Transport transport = Transport::kRing;
  bool in_graph = false;        // launched by the last kGraphLaunch, not by a call of its own
  bool early_start = false;     // programmatic dependent launch: may start before its stream predecessor has ended
  bool expert = false;          // work of a rank's experts: grows with their tokens
  bool pageable = false;        // of a copy: host memory that is not pinned, so that the call lasts until it is done
  bool ends_layer = false;      // the last op of a layer
  bool returns = false;         // of an uneven all-to-all: tokens go back from the experts
  uint32_t draw = kByPosition;  // see DrawNumber
  uint32_t kernel = 0;          // index into StepProgram::kernels (kKernel, kCollective)
  uint32_t first_of_call = 0;   // of kCollective: first op of the same framework call; of in_graph: the launch
  uint32_t exchange = 0;        // of an uneven all-to-all: equal on the way there and back; see Exchange
  int32_t send_to = -1;         // point to point: position in the group of who receives from this rank; -1 = nobody
  int32_t receive_from = -1;    // ... and who sends to it. Both: one fused kernel, with one and the same peer
  int32_t root = -1;            // of a broadcast or reduction: position in the group
  int64_t bytes = 0;            // message size per rank, or size of the copy
  int64_t device_ns = 0;        // length on a usual device; of a collective: latency apart from what its size costs
  int64_t host_before_ns = 0;   // host work before this call beyond the usual dispatch
  int64_t call_ns = 0;          // of an allocation: mean length of the call
};

[[nodiscard]] constexpr bool IsPairwise(const Op& op) { return op.send_to >= 0 || op.receive_from >= 0; }
// What an op's random numbers are keyed by: where it stands in the step, or would stand without the ops that a cause
// has added.
[[nodiscard]] constexpr uint32_t DrawNumber(const Op& op, uint32_t position) {
  return op.draw == kByPosition ? position : op.draw;
}
// A trace can tell the group at all: by NCCL, called by a framework, and not replayed.
[[nodiscard]] constexpr bool TellsGroup(const Op& op) { return op.transport != Transport::kCustom && !op.in_graph; }
// The host makes a call of its own for it.
[[nodiscard]] constexpr bool HasCall(const Op& op) { return !op.in_graph; }
[[nodiscard]] constexpr bool StartsDeviceWork(OpKind kind) {
  return kind == OpKind::kKernel || kind == OpKind::kCollective || kind == OpKind::kMemcpy || kind == OpKind::kMemset;
}
// Its call launches kernels.
[[nodiscard]] constexpr bool StartsKernels(OpKind kind) {
  return kind == OpKind::kKernel || kind == OpKind::kCollective || kind == OpKind::kGraphLaunch;
}
// Where the kernel of this rank meets its partners' (Cluster::MeetingOf). Of kCollective only.
[[nodiscard]] uint32_t MeetingOf(const Cluster& cluster, const Op& op, int32_t rank);

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

// Ops and kernels of all steps of all ranks. StepOf may differ by rank (stages of a pipeline); members of a
// communicator call its collectives in one order. The answer's address stays valid and tells equal steps apart.
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

// Steps that take in one prompt of so many tokens and decode nothing.
[[nodiscard]] std::unique_ptr<StepProgram> MakePromptProgram(const SimulatorOptions& options, int64_t tokens);
[[nodiscard]] std::unique_ptr<StepProgram> MakeServingProgram(const SimulatorOptions& options);
[[nodiscard]] std::unique_ptr<StepProgram> MakeTrainProgram(const SimulatorOptions& options);
[[nodiscard]] std::unique_ptr<StepProgram> MakeProgram(const SimulatorOptions& options);

}  // namespace lockstep
