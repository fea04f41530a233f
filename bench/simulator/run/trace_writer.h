// One interface for both trace forms: writes the capture of one host.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/simulator/cluster/causes.h"
#include "bench/simulator/cluster/cluster.h"
#include "bench/simulator/cluster/counter_rng.h"
#include "bench/simulator/command/simulator_options.h"
#include "bench/simulator/engine/timeline.h"
#include "bench/simulator/program/step_program.h"

namespace lockstep {

// What the writers need to know of a run besides the timelines. The referents outlive it.
struct RunDescription {
  const SimulatorOptions* options = nullptr;
  const Cluster* cluster = nullptr;
  const StepProgram* program = nullptr;
  const CauseEffects* effects = nullptr;  // nullptr: no cause changes what the rows say
  CounterRng rng{1};
  int64_t session_start_ns = 0;  // when profilers were started, by the clock of each host
};

// Recorded timelines (ClockField::Record) of the ranks of one host, in order of rank.
struct HostCapture {
  int32_t host = 0;
  int32_t first_rank = 0;
  std::span<const RankTimeline> ranks;
};

struct WrittenFile {
  std::string name;  // inside the folder
  std::vector<int32_t> ranks;
};

class TraceWriter {
 public:
  virtual ~TraceWriter() = default;
  // Writes the files of one host into `folder`, which exists.
  virtual absl::StatusOr<std::vector<WrittenFile>> Write(const HostCapture& capture, const std::string& folder) = 0;
};

[[nodiscard]] std::unique_ptr<TraceWriter> MakeKinetoWriter(const RunDescription& run);
[[nodiscard]] std::unique_ptr<TraceWriter> MakeNsysWriter(const RunDescription& run);
// The form that this host's traces have.
[[nodiscard]] TraceForm FormOfHost(const SimulatorOptions& options, int32_t host);

// Identities that both forms show alike.
[[nodiscard]] int64_t ProcessIdOf(const Cluster& cluster, int32_t rank);
[[nodiscard]] std::string GpuName(const SimulatorOptions& options);
// What counts the collectives and pairwise operations of a timeline, by activity index; -1 for other activities.
struct CallNumber {
  int64_t seq = -1;     // c10d's and NCCL's; of pairwise operations each process counts its own
  int64_t shared = -1;  // ordinal at the meeting: equal on all members of an instance
};
[[nodiscard]] std::vector<CallNumber> CallNumbersOf(const RunDescription& run, int32_t rank,
                                                    const RankTimeline& timeline);
// Launch shape and message size of an op as the rank's trace tells them: more work has larger grids and messages.
[[nodiscard]] LaunchShape ShapeOf(const RunDescription& run, int32_t rank, int32_t step, const Op& op);
[[nodiscard]] int64_t BytesOf(const RunDescription& run, int32_t rank, int32_t step, const Op& op);
// Global rank at the other end of a pairwise operation; -1 = none.
[[nodiscard]] int32_t PeerOf(const RunDescription& run, int32_t rank, const Op& op);

// What of an activity a recorded timeline still holds. Zero times: lost, or outside of the capture.
[[nodiscard]] constexpr bool HasDeviceRow(const Activity& activity, const Op& op) {
  return StartsDeviceWork(op.kind) && (activity.start_ns != 0 || activity.end_ns != 0);
}
[[nodiscard]] constexpr bool HasHostRow(const Activity& activity, const Op& op) {
  return HasCall(op) && activity.call_end_ns != 0;
}
// Index of the activity whose call launched activity `index`: itself, or the graph launch.
[[nodiscard]] constexpr size_t LaunchOf(size_t index, const Activity& activity, const Op& op) {
  return op.in_graph ? index - activity.op + op.first_of_call : index;
}
// Host times between which the timeline's recorded steps and calls lie; zero if there are none.
struct HostInterval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};
[[nodiscard]] HostInterval CaptureOf(const RankTimeline& timeline);

// A range of the host around activities first..last; nothing if one of the two was not recorded.
[[nodiscard]] std::optional<HostInterval> IntervalOf(const RankTimeline& timeline, size_t first, size_t last,
                                                     int64_t margin_ns);

// Distances of nested ranges from the calls that they enclose; dispatch leaves at least 1.3 us between two calls.
inline constexpr int64_t kPhaseMarginNs = 600;
inline constexpr int64_t kFrameworkMarginNs = 500;
inline constexpr int64_t kCollectiveMarginNs = 400;
inline constexpr int64_t kInnerMarginNs = 250;

// CUDA's correlation number of an activity; unique within its process only.
[[nodiscard]] constexpr uint64_t CorrelationOf(size_t activity) { return 1'000 + activity; }

// Where a copy comes from and goes to.
[[nodiscard]] constexpr MemoryKind HostMemoryOf(const Op& op) {
  return op.pageable ? MemoryKind::kPageable : MemoryKind::kPinned;
}
[[nodiscard]] constexpr MemoryKind SourceMemoryOf(const Op& op) {
  return op.copy == CopyKind::kHostToDevice ? HostMemoryOf(op) : MemoryKind::kDevice;
}
[[nodiscard]] constexpr MemoryKind TargetMemoryOf(const Op& op) {
  return op.copy == CopyKind::kDeviceToHost ? HostMemoryOf(op) : MemoryKind::kDevice;
}

// The CUDA call of an op, as the tools name it.
struct CudaCall {
  const char* name;       // as Kineto prints it
  const char* nsys_name;  // with nsys's version suffix
  int32_t callback_id;    // CUPTI's cbid
};
[[nodiscard]] const CudaCall& CallOf(OpKind kind);

}  // namespace lockstep
