// One interface for both trace forms: writes the capture of one host.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/simulator/cluster.h"
#include "bench/simulator/counter_rng.h"
#include "bench/simulator/simulator_options.h"
#include "bench/simulator/step_program.h"
#include "bench/simulator/timeline.h"

namespace lockstep {

// What the writers need to know of a run besides the timelines. The referents outlive it.
struct RunDescription {
  const SimulatorOptions* options = nullptr;
  const Cluster* cluster = nullptr;
  const StepProgram* program = nullptr;
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
// c10d's and NCCL's sequence number of each collective of a timeline, by activity index; -1 for other activities.
[[nodiscard]] std::vector<int64_t> SequenceNumbers(const RunDescription& run, int32_t rank,
                                                   const RankTimeline& timeline);
// A range of the host around ops first..last of the step that begins at activity `step_first`.
struct HostInterval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};
[[nodiscard]] HostInterval IntervalOf(const RankTimeline& timeline, size_t first, size_t last, int64_t margin_ns);

// Distances of nested ranges from the calls that they enclose; dispatch leaves at least 1.3 us between two calls.
inline constexpr int64_t kPhaseMarginNs = 600;
inline constexpr int64_t kFrameworkMarginNs = 500;
inline constexpr int64_t kCollectiveMarginNs = 400;
inline constexpr int64_t kInnerMarginNs = 250;

// CUDA's correlation number of an activity; unique within its process only.
[[nodiscard]] constexpr uint64_t CorrelationOf(size_t activity) { return 1'000 + activity; }

// The CUDA call of an op, as the tools name it.
struct CudaCall {
  const char* name;       // as Kineto prints it
  const char* nsys_name;  // with nsys's version suffix
  int32_t callback_id;    // CUPTI's cbid
};
[[nodiscard]] const CudaCall& CallOf(OpKind kind);

}  // namespace lockstep
