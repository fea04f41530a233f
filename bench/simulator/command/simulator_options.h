// The command line of lockstep-simulate as values.
//
// Every flag of the contract is parsed. What is wrong gives kInvalidArgument, naming the flag, the value and what is
// possible.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

enum class ProgramKind : uint8_t { kDecode, kPrefill, kTrain, kBatching, kPipeline, kMoe };
enum class AllReduceKind : uint8_t { kNccl, kCustom, kSymmetric };  // who does small tensor-parallel all-reduces
enum class Algorithm : uint8_t { kRing, kTree, kNvls };
// What data-parallel replicas divide among them: nothing; the optimizer's state (gradients are reduced to owners,
// parameters broadcast by them); everything (parameters are gathered for each layer).
enum class Sharding : uint8_t { kNone, kOptimizer, kFull };
enum class IdLevel : uint8_t { kFull, kGroups, kNames };
enum class TraceForm : uint8_t { kKineto, kNsys, kMixed };

// "KIND:k=v,k=v" as written; values are checked by whoever knows the kind.
struct Spec {
  std::string kind;
  std::map<std::string, std::string> values;
  friend bool operator==(const Spec&, const Spec&) = default;
};
[[nodiscard]] absl::StatusOr<Spec> ParseSpec(std::string_view text);
// "k=v,k=v" without a kind.
[[nodiscard]] absl::StatusOr<std::map<std::string, std::string>> ParseKeyValues(std::string_view text);
// Exact decimal numbers; the whole text must be used.
[[nodiscard]] absl::StatusOr<int64_t> ParseInteger(std::string_view text);
[[nodiscard]] absl::StatusOr<uint64_t> ParseUnsigned(std::string_view text);
[[nodiscard]] absl::StatusOr<double> ParseReal(std::string_view text);

// Magnitudes within which each host's clock is drawn; all zero = every clock is the true one.
struct ClockMagnitudes {
  double offset_ms = 0;
  double drift_ppm = 0;
  double bias_us = 0;
  double step_us = 0;      // size of one clock step of one host inside the run
  double wander_ppm = 0;   // random walk of the rate, per 0.1 s
  double jitter_us = 0.3;  // of each record, where any clock magnitude is set
  double tick_ns = 32;
};

// How the cluster deviates from clockwork. Ranges: METRICS of the simulator's README.
struct NoiseModel {
  double device_spread = 0.004;    // sd of the permanent speed differences between devices
  double kernel_sigma_lo = 0.002;  // sd of a kernel's length, drawn per kernel between the two
  double kernel_sigma_hi = 0.02;
  double rho = 0;            // AR(1) correlation of a rank's speed from step to step; 0 = none
  double rho_sigma = 0.002;  // sd of that slow part, used when rho > 0
  double transfer_sigma = 0.02;
  double end_frac = 0.001;   // ends of one collective are spread by up to this share of its transfer, by position
  double end_jitter_us = 1;  // and by an exponential of this mean (0.3 to 1 us are usual)
  double length_sigma = 0;   // sd of the tokens of a step between data-parallel replicas, relative
};

// Damage that is done while files are written rather than to the recorded times; follows from
// SimulatorOptions::defects.
struct FileDefects {
  bool no_metadata = false;    // nothing but kernel names, whatever the id level
  bool elided_groups = false;  // member lists beyond 30 ranks stay truncated, and nothing else has them
  bool same_hostname = false;  // the second host bears the first one's name
  bool opaque_graphs = false;  // nsys records one span for each graph launch, not its kernels
};

struct SimulatorOptions {
  std::vector<std::string> argv;  // as given, for truth.json
  ProgramKind program = ProgramKind::kDecode;
  int32_t tp = 0;  // 0 = what is left
  int32_t pp = 1;
  int32_t dp = 1;
  int32_t ep = 1;
  int32_t hosts = 1;
  int32_t gpus_per_host = 0;  // 0 = world size / hosts
  int32_t steps = 20;
  int32_t layers = 32;
  uint64_t seed = 1;
  IdLevel ids = IdLevel::kFull;
  TraceForm form = TraceForm::kKineto;
  int32_t kineto_version = 2026;
  int32_t nsys_schema_minor = 25;  // of schema 3; -7 stands for 2.7 so that versions order as numbers
  double model_scale = 1;          // all compute kernels take this many times as long
  int32_t micro_batches = 4;       // of pipelines and training with pp > 1
  int32_t interleave = 1;          // parts of the model that each stage of a pipeline has
  Sharding shard = Sharding::kNone;
  bool overlap = true;  // gradients are exchanged under the backward pass
  bool graphs = false;  // a step is one CUDA-graph launch (decode, batching)
  AllReduceKind all_reduce = AllReduceKind::kNccl;
  Algorithm algorithm = Algorithm::kRing;
  NoiseModel noise;
  std::vector<Spec> causes;
  std::vector<Spec> defects;
  FileDefects files;
  ClockMagnitudes clock;
  std::string out;           // "" = no files
  std::string stream_to;     // HOST:PORT of an aggregator; "" = none
  std::string run;           // there
  double pace = 0;           // seconds of the run sent in a second; 0 = all at once, as when the traces are written
  double batch_seconds = 1;  // of the run's time in a batch of a paced stream
  bool gzip = true;
  bool stacks = false;
  bool overwrite = false;
  int32_t host_rows = 0;  // further host-only rows before each launch

  [[nodiscard]] int32_t world() const { return tp * pp * dp; }
};

// Schema 2.7 in SimulatorOptions::nsys_schema_minor.
inline constexpr int32_t kSchema27 = -7;

// What main does next: run the simulation, or leave with this code because everything has been said already.
struct CommandLine {
  bool run = false;
  int exit_code = 0;
  std::string message;  // for stdout when exit_code is 0 (help, version), else for stderr
  SimulatorOptions options;
};
[[nodiscard]] CommandLine ParseCommandLine(int argc, const char* const* argv);

// Fills in what was left to be derived (tp, gpus_per_host) and checks the combination.
[[nodiscard]] absl::Status CompleteLayout(SimulatorOptions& options);

[[nodiscard]] std::string_view Name(ProgramKind program);
[[nodiscard]] std::string_view Name(IdLevel ids);

}  // namespace lockstep
