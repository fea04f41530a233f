// Why a simulated run is slower than it could be: each cause with its place and strength, and what it does to times.
// Pure.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/simulator/cluster/cluster.h"
#include "bench/simulator/cluster/counter_rng.h"
#include "bench/simulator/command/simulator_options.h"
#include "bench/simulator/program/step_program.h"

namespace lockstep {

enum class InjectedKind : uint8_t {
  kSlowGpu,
  kSlowKernel,
  kMoreWork,
  kLateHost,
  kPeriodicPause,
  kDataStall,
  kCopyContention,
  kSlowRail,
  kStageImbalance,
  kExpertImbalance,
  kTransient,
  kAlwaysLast,  // the defect always_last: a host that is late before every collective
  // Of a whole job, unless given for a rank: what makes every rank slower than it could be.
  kHostBound,
  kSlowLaunch,
  kLongAttention,
  kKernelTail,
  kOutlier,
  kSlowTransfer,
  kJitter,
  // The same, by other ops in a step: see ConditionedProgram.
  kSmallKernels,
  kSync,
  kAlloc,
  kHostCopies,
  kBigCopies,
  kPrefillMix,
  kUnevenTraffic,
  // By other kernels than its own: what moves memory takes longer.
  kMemoryBound,
};

struct Cause {
  InjectedKind kind = InjectedKind::kSlowGpu;
  std::string name;            // as on the command line
  std::string scope = "rank";  // rank | host | rail | stage | all: what the cause was given for
  int32_t place = 0;           // number of that rank, host, rail or stage
  std::vector<int32_t> ranks;  // where it strikes, ascending
  double factor = 1.0;         // how many times as long, or as much; of expert_imbalance: 1 + skew
  int64_t delay_ns = 0;        // length of one pause of the host, or of one call
  double probability = 0;      // of a pause: for each launch (late_host) or step (data_stall); of a long kernel
  int64_t every = 0;           // from one to the next: steps (periodic_pause, prefill_mix), layers (sync)
  int64_t count = 0;           // pieces of a kernel, calls or copies in a step, outliers in the run
  int64_t bytes = 0;           // host_copies: of one copy
  double sigma = 0;            // jitter: relative sd
  int64_t from_step = 0;       // transient: first step and the one after the last
  int64_t to_step = INT64_MAX;
  std::string kernel;                        // a part of the names it hits; "" = one kernel that the seed decides
  std::map<std::string, double> parameters;  // as they hold, for truth.json
  uint32_t ordinal = 0;                      // among the causes of its kind; part of its random numbers' keys
};

// The name of what an analysis should find as its kind (those of metrics/causes).
[[nodiscard]] std::string_view CategoryOf(InjectedKind kind);
// The id of the finding that it should lead to. What slows one rank alone makes it a straggler, whatever it is.
[[nodiscard]] std::string_view FindingOf(const Cause& cause);
// It strikes certain kernels: KernelsHit.
[[nodiscard]] bool HitsKernels(InjectedKind kind);
// It gives a step other ops: ConditionedProgram.
[[nodiscard]] bool ChangesProgram(InjectedKind kind);
// Members of an expert-parallel group; 1 = there is none.
[[nodiscard]] int32_t ExpertsOf(const Cluster& cluster);

// Reads and places the causes; without a place the seed decides. kInvalidArgument names the value and its range.
[[nodiscard]] absl::StatusOr<std::vector<Cause>> PlaceCauses(const std::vector<Spec>& specs, const Cluster& cluster,
                                                             const CounterRng& rng);

// The kernels that are hit, in the program's order. Without a name in the cause the seed takes one of those that make
// up at least a twentieth of the rank's compute time in the first step.
[[nodiscard]] std::vector<uint32_t> KernelsHit(const Cause& cause, const StepProgram& program, const CounterRng& rng);

// One op of a run, as random numbers know it.
struct OpPlace {
  int32_t rank = 0;
  int64_t step = 0;
  uint32_t draw = 0;     // DrawNumber of the op
  uint32_t segment = 0;  // collectives before it in the step
};

// The causes' effect on a run; `without` leaves one of them out. Without `program` those that hit kernels have none,
// without `cluster` expert_imbalance, without `steps` outlier. `causes` and `program` outlive it. Thread safe.
class CauseEffects {
 public:
  CauseEffects(const std::vector<Cause>& causes, std::optional<size_t> without, int32_t world, const CounterRng& rng,
               const Cluster* cluster = nullptr, const StepProgram* program = nullptr, int64_t steps = 0);

  // How many times as long a compute kernel takes: slow devices, slow kernels. `kernel`: into StepProgram::kernels.
  [[nodiscard]] double KernelFactor(int32_t rank, int64_t step, uint32_t kernel) const;
  // The same of this one instance of it: tails, outliers, scatter.
  [[nodiscard]] double InstanceFactor(const OpPlace& place, uint32_t kernel) const;
  // How much more work a rank has: grids, message sizes of uneven exchanges and times grow together.
  [[nodiscard]] double WorkFactor(int32_t rank, int64_t step) const;
  // The same of its experts alone (kernels and all-to-all shares that the program marks as experts').
  [[nodiscard]] double ExpertFactor(int32_t rank, int64_t step) const;
  // How many times as long a copy of this rank takes.
  [[nodiscard]] double CopyFactor(int32_t rank, int64_t step) const;
  // How many times as long a transfer takes that uses this rail (local index) between hosts.
  [[nodiscard]] double RailFactor(int32_t rail) const;
  // ... and any transfer at all.
  [[nodiscard]] double TransferFactor() const { return transfer_; }
  // From now on the tokens of a step differ between data-parallel replicas with this relative sd: sequences of unequal
  // length. Part of WorkFactor, in steps of 1/32; no cause, and never left out.
  void VaryLengths(double sigma, const Cluster& cluster);
  // Host pause before the launch of this op.
  [[nodiscard]] int64_t LaunchDelay(int32_t rank, int64_t step, uint32_t op) const;
  // How much longer every call takes that launches something.
  [[nodiscard]] int64_t LaunchCall(int32_t rank) const { return ranks_[static_cast<size_t>(rank)].launch_call_ns; }
  // How much later than it could a collective's kernel of this rank starts on the device: always_last.
  [[nodiscard]] int64_t ArrivalDelay(int32_t rank) const { return ranks_[static_cast<size_t>(rank)].arrival_ns; }
  // Host pause before the step's first op: data stalls, periodic pauses.
  [[nodiscard]] int64_t StepDelay(int32_t rank, int64_t step) const;

 private:
  // What strikes one rank.
  struct OfRank {
    double device = 1;
    double work = 1;
    double expert = 1;
    double copy = 1;
    int64_t arrival_ns = 0;
    std::map<uint32_t, double> kernels;
    std::vector<const Cause*> transients;
    std::vector<const Cause*> late;    // before launches
    std::vector<const Cause*> pauses;  // before steps
    int64_t launch_call_ns = 0;
    std::vector<const Cause*> scatter;
    std::vector<std::pair<const Cause*, std::vector<uint32_t>>> tails;  // with the kernels hit
    std::map<std::pair<int64_t, uint32_t>, double> outliers;            // by step and DrawNumber
  };
  [[nodiscard]] double LengthFactor(int32_t rank, int64_t step) const;
  void Take(const Cause& cause, int32_t rank);
  void TakeKernels(const Cause& cause, int32_t rank);
  void SpreadTokens(const Cause& cause, const Cluster& cluster);
  void PlaceOutliers(const Cause& cause);
  [[nodiscard]] DrawKey KeyOf(const Cause& cause, DrawKey key) const;
  // Several causes on one rank must not share a draw: the step carries the cause's ordinal in its high bits.
  [[nodiscard]] bool Strikes(const Cause& cause, DrawKey key) const;

  std::vector<OfRank> ranks_;
  std::map<int32_t, double> rails_;
  double transfer_ = 1;
  double length_sigma_ = 0;
  std::vector<int32_t> replica_;  // by rank, where lengths vary
  CounterRng rng_;
  const StepProgram* program_;
  int64_t steps_;
};

}  // namespace lockstep
