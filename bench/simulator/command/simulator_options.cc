#include "bench/simulator/command/simulator_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <span>

#include "analysis/base/status_macros.h"
#include "analysis/base/version.h"
#include "platform/host.h"

namespace lockstep {
namespace {

constexpr int32_t kMaxWorld = 16'384;
constexpr int64_t kMaxRecordsPerRank = 200'000'000;

// The flags as text, before their values are understood.
struct RawFlags {
  std::string program = "decode";
  std::string ids = "full";
  std::string format = "kineto";
  std::string kineto_version = "2026";
  std::string nsys_schema = "3.25";
  std::string seed = "1";
  std::string overlap = "on";
  std::string all_reduce = "nccl";
  std::string algorithm = "ring";
  std::string shard = "none";
  std::string clock;
  std::string noise;
  std::vector<std::string> causes;
  std::vector<std::string> defects;
  bool no_gzip = false;
};

constexpr std::string_view kExamples = R"(Examples:
  lockstep-simulate --tp 8 --cause late_host:rank=3,us=300,p=0.02 --out run
      eight tensor-parallel ranks on one host, rank 3 launches late; one rank{r}.json.gz each and truth.json
  lockstep-simulate --program train --tp 8 --dp 4 --hosts 4 --format nsys --ids groups --clock offset_ms=5 --out run
      32 ranks on four hosts whose clocks differ; one nsys export a host
  lockstep-simulate --tp 2 --steps 40 --layers 80 --stacks --host-rows 4 --no-gzip --out big
      few ranks with large files
Exit codes: 0 done, 1 wrong usage, 2 cannot write or send.)";

// Of a closed set of values: its position, else an error that lists the set.
absl::StatusOr<size_t> Choose(std::string_view flag, std::string_view value, std::span<const std::string_view> values) {
  const auto found = std::find(values.begin(), values.end(), value);
  if (found == values.end()) {
    return absl::InvalidArgumentError(fmt::format("{} {}: choose one of {}", flag, value, fmt::join(values, ", ")));
  }
  return static_cast<size_t>(found - values.begin());
}

absl::Status CheckKeys(std::string_view flag, const Spec& spec, std::string_view keys) {
  for (const auto& [key, value] : spec.values) {
    if ((fmt::format(" {} ", keys)).find(fmt::format(" {} ", key)) == std::string::npos) {
      return absl::InvalidArgumentError(
          fmt::format("{} {}: no key '{}'; it takes: {}", flag, spec.kind, key, keys.empty() ? "none" : keys));
    }
  }
  return absl::OkStatus();
}

struct KindKeys {
  std::string_view kind;
  std::string_view keys;
};

constexpr std::array kCauseKinds = {
    KindKeys{"none", ""},
    KindKeys{"slow_gpu", "rank factor"},
    KindKeys{"slow_kernel", "rank kernel factor"},
    KindKeys{"more_work", "rank factor"},
    KindKeys{"late_host", "rank host us p"},
    KindKeys{"periodic_pause", "rank every ms"},
    KindKeys{"data_stall", "rank p ms"},
    KindKeys{"copy_contention", "rank gbps"},
    KindKeys{"slow_rail", "rail factor"},
    KindKeys{"stage_imbalance", "stage factor"},
    KindKeys{"expert_imbalance", "skew"},
    KindKeys{"transient", "rank from to factor"},
    KindKeys{"host_bound", "rank us"},
    KindKeys{"slow_launch", "rank us"},
    KindKeys{"small_kernels", "rank split"},
    KindKeys{"sync", "rank every"},
    KindKeys{"alloc", "rank calls us"},
    KindKeys{"host_copies", "rank mb count"},
    KindKeys{"big_copies", "rank factor"},
    KindKeys{"long_attention", "rank factor"},
    KindKeys{"kernel_tail", "rank kernel p factor"},
    KindKeys{"outlier", "rank kernel count factor"},
    KindKeys{"slow_transfer", "factor"},
    KindKeys{"jitter", "rank sigma"},
    KindKeys{"prefill_mix", "every factor"},
    KindKeys{"uneven_traffic", "rank factor"},
    KindKeys{"memory_bound", "rank factor"},
};
constexpr std::array kDefectKinds = {
    KindKeys{"stagger", "s"},
    KindKeys{"loss", "p"},
    KindKeys{"burst", "n"},
    KindKeys{"head", "n"},
    KindKeys{"absurd", "p"},
    KindKeys{"duplicate_rank", "rank"},
    KindKeys{"missing_rank", "rank"},
    KindKeys{"no_metadata", ""},
    KindKeys{"elided_groups", ""},
    KindKeys{"decoy", ""},
    KindKeys{"always_last", "host us"},
    KindKeys{"same_hostname", ""},
    KindKeys{"opaque_graphs", ""},
};

absl::StatusOr<std::vector<Spec>> ParseKinds(std::string_view flag, const std::vector<std::string>& texts,
                                             std::span<const KindKeys> rows) {
  std::vector<Spec> specs;
  for (const std::string& text : texts) {
    LOCKSTEP_ASSIGN_OR_RETURN(Spec spec, ParseSpec(text));
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const KindKeys& r) { return r.kind == spec.kind; });
    if (row == rows.end()) {
      std::vector<std::string_view> kinds;
      for (const KindKeys& r : rows) kinds.push_back(r.kind);
      return absl::InvalidArgumentError(
          fmt::format("{} {}: no such kind; known: {}", flag, text, fmt::join(kinds, ", ")));
    }
    LOCKSTEP_RETURN_IF_ERROR(CheckKeys(flag, spec, row->keys));
    if (spec.kind != "none") specs.push_back(std::move(spec));
  }
  return specs;
}

struct RealField {
  std::string_view key;
  double* value;
  double highest;
};

// "k=v,k=v" into the named fields, each from 0 to its highest value.
absl::Status ParseReals(std::string_view flag, const std::string& text, std::span<const RealField> fields) {
  auto values = ParseKeyValues(text);
  if (!values.ok())
    return absl::InvalidArgumentError(fmt::format("{}: {}", flag, std::string(values.status().message())));
  for (const auto& [key, value] : *values) {
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&k = key](const RealField& f) { return f.key == k; });
    if (field == fields.end()) {
      std::vector<std::string_view> keys;
      for (const RealField& f : fields) keys.push_back(f.key);
      return absl::InvalidArgumentError(fmt::format("{}: no key '{}'; it takes {}", flag, key, fmt::join(keys, ", ")));
    }
    const auto number = ParseReal(value);
    if (!number.ok() || *number < 0 || *number > field->highest) {
      return absl::InvalidArgumentError(
          fmt::format("{} {}={}: must be a number from 0 to {}", flag, key, value, field->highest));
    }
    *field->value = *number;
  }
  return absl::OkStatus();
}

absl::Status ParseClock(const std::string& text, ClockMagnitudes& clock) {
  constexpr double kMost = 1e6;
  const std::array<RealField, 7> fields = {{{"offset_ms", &clock.offset_ms, kMost},
                                            {"drift_ppm", &clock.drift_ppm, kMost},
                                            {"bias_us", &clock.bias_us, kMost},
                                            {"step_us", &clock.step_us, kMost},
                                            {"wander_ppm", &clock.wander_ppm, kMost},
                                            {"jitter_us", &clock.jitter_us, kMost},
                                            {"tick_ns", &clock.tick_ns, kMost}}};
  return ParseReals("--clock", text, fields);
}

absl::Status ParseNoise(const std::string& text, NoiseModel& noise) {
  const std::array<RealField, 9> fields = {{{"device_spread", &noise.device_spread, 1},
                                            {"kernel_sigma_lo", &noise.kernel_sigma_lo, 1},
                                            {"kernel_sigma_hi", &noise.kernel_sigma_hi, 1},
                                            {"rho", &noise.rho, 0.9999},
                                            {"rho_sigma", &noise.rho_sigma, 1},
                                            {"transfer_sigma", &noise.transfer_sigma, 1},
                                            {"end_frac", &noise.end_frac, 1},
                                            {"end_jitter_us", &noise.end_jitter_us, 1000},
                                            {"length_sigma", &noise.length_sigma, 0.5}}};
  LOCKSTEP_RETURN_IF_ERROR(ParseReals("--noise", text, fields));
  if (noise.kernel_sigma_lo > noise.kernel_sigma_hi) {
    return absl::InvalidArgumentError("--noise: kernel_sigma_lo must not be above kernel_sigma_hi");
  }
  return absl::OkStatus();
}

// In the order of the enumerations.
constexpr std::array<std::string_view, 6> kPrograms = {"decode", "prefill", "train", "batching", "pipeline", "moe"};
constexpr std::array<std::string_view, 3> kAllReduces = {"nccl", "custom", "symmetric"};
constexpr std::array<std::string_view, 3> kAlgorithms = {"ring", "tree", "nvls"};
constexpr std::array<std::string_view, 3> kShardings = {"none", "optimizer", "full"};
constexpr std::array<std::string_view, 2> kSwitch = {"off", "on"};
constexpr std::array<std::string_view, 3> kIds = {"full", "groups", "names"};
constexpr std::array<std::string_view, 3> kForms = {"kineto", "nsys", "mixed"};
constexpr std::array<std::string_view, 4> kKinetoVersions = {"2021", "2023", "2024", "2026"};
constexpr std::array<int32_t, 4> kKinetoYears = {2021, 2023, 2024, 2026};
constexpr std::array<std::string_view, 6> kNsysSchemas = {"2.7", "3.0", "3.7", "3.13", "3.25", "3.28"};
constexpr std::array<int32_t, 6> kSchemaMinors = {kSchema27, 0, 7, 13, 25, 28};

absl::Status UnderstandChoices(const RawFlags& raw, SimulatorOptions& options) {
  LOCKSTEP_ASSIGN_OR_RETURN(const size_t program, Choose("--program", raw.program, kPrograms));
  LOCKSTEP_ASSIGN_OR_RETURN(const size_t ids, Choose("--ids", raw.ids, kIds));
  LOCKSTEP_ASSIGN_OR_RETURN(const size_t form, Choose("--format", raw.format, kForms));
  LOCKSTEP_ASSIGN_OR_RETURN(const size_t year, Choose("--kineto-version", raw.kineto_version, kKinetoVersions));
  LOCKSTEP_ASSIGN_OR_RETURN(const size_t schema, Choose("--nsys-schema", raw.nsys_schema, kNsysSchemas));
  LOCKSTEP_ASSIGN_OR_RETURN(const size_t overlap, Choose("--overlap", raw.overlap, kSwitch));
  LOCKSTEP_ASSIGN_OR_RETURN(const size_t all_reduce, Choose("--all-reduce", raw.all_reduce, kAllReduces));
  LOCKSTEP_ASSIGN_OR_RETURN(const size_t algorithm, Choose("--algorithm", raw.algorithm, kAlgorithms));
  LOCKSTEP_ASSIGN_OR_RETURN(const size_t shard, Choose("--shard", raw.shard, kShardings));
  options.program = static_cast<ProgramKind>(program);
  options.ids = static_cast<IdLevel>(ids);
  options.form = static_cast<TraceForm>(form);
  options.kineto_version = kKinetoYears[year];
  options.nsys_schema_minor = kSchemaMinors[schema];
  options.overlap = overlap == 1;
  options.all_reduce = static_cast<AllReduceKind>(all_reduce);
  options.algorithm = static_cast<Algorithm>(algorithm);
  options.shard = static_cast<Sharding>(shard);
  return absl::OkStatus();
}

absl::Status Understand(const RawFlags& raw, SimulatorOptions& options) {
  LOCKSTEP_RETURN_IF_ERROR(UnderstandChoices(raw, options));
  LOCKSTEP_ASSIGN_OR_RETURN(options.causes, ParseKinds("--cause", raw.causes, kCauseKinds));
  LOCKSTEP_ASSIGN_OR_RETURN(options.defects, ParseKinds("--defect", raw.defects, kDefectKinds));
  LOCKSTEP_RETURN_IF_ERROR(ParseClock(raw.clock, options.clock));
  LOCKSTEP_RETURN_IF_ERROR(ParseNoise(raw.noise, options.noise));
  const auto seed = ParseUnsigned(raw.seed);
  if (!seed.ok()) return absl::InvalidArgumentError("--seed: " + std::string(seed.status().message()));
  options.seed = *seed;
  options.gzip = !raw.no_gzip;
  if (options.stream_to.empty() != options.run.empty()) {
    return absl::InvalidArgumentError("--stream-to HOST:PORT and --run NAME go together");
  }
  if (!options.stream_to.empty() && !ParseAddress(options.stream_to)) {
    return absl::InvalidArgumentError(fmt::format("--stream-to: '{}' is not HOST:PORT", options.stream_to));
  }
  if (!(options.pace >= 0 && options.pace <= 1e6)) {
    return absl::InvalidArgumentError(fmt::format("--pace {}: between 0 and 1000000", options.pace));
  }
  if (options.pace > 0 && options.stream_to.empty()) {
    return absl::InvalidArgumentError("--pace needs --stream-to HOST:PORT --run NAME");
  }
  if (!(options.batch_seconds >= 1e-6 && options.batch_seconds <= 1e6)) {
    return absl::InvalidArgumentError(
        fmt::format("--batch-seconds {}: between 0.000001 and 1000000", options.batch_seconds));
  }
  if (options.out.empty() && options.stream_to.empty()) {
    return absl::InvalidArgumentError("say where to write: --out DIR, or --stream-to HOST:PORT --run NAME");
  }
  return CompleteLayout(options);
}

constexpr const char* kCauseHelp =
    "why the run is slower than it could be (repeatable; without a place the seed draws it): none | "
    "slow_gpu:rank=,factor= | slow_kernel:rank=,kernel=,factor= | more_work:rank=,factor= | "
    "late_host:rank=|host=,us=,p= | periodic_pause:rank=,every=,ms= | data_stall:rank=,p=,ms= | "
    "copy_contention:rank=,gbps= | slow_rail:rail=,factor= | stage_imbalance:stage=,factor= | "
    "expert_imbalance:skew= | transient:rank=,from=,to=,factor= (from, to: steps); on all ranks, unless rank= is "
    "given: host_bound:us= | slow_launch:us= | small_kernels:split= | sync:every= (layers) | alloc:calls=,us= | "
    "host_copies:mb=,count= | big_copies:factor= (of compute time) | long_attention:factor= | "
    "kernel_tail:kernel=,p=,factor= | outlier:kernel=,count=,factor= | jitter:sigma= | memory_bound:factor= | and "
    "always on all: "
    "slow_transfer:factor= | prefill_mix:every=,factor= (steps; times 2048 tokens) | "
    "uneven_traffic:rank=,factor= (messages among the replicas of this rank)";
constexpr const char* kDefectHelp =
    "what is wrong with the traces (repeatable): stagger:s= | loss:p= | burst:n= | head:n= | absurd:p= | "
    "duplicate_rank:rank= | missing_rank:rank= | no_metadata | elided_groups | decoy | always_last:host=,us= | "
    "same_hostname | opaque_graphs";

void AddModelFlags(CLI::App& app, RawFlags& raw, SimulatorOptions& options) {
  app.add_option("--model-scale", options.model_scale, "compute kernels take this many times as long")
      ->capture_default_str();
  app.add_option("--micro-batches", options.micro_batches, "micro-batches of a pipelined step")->capture_default_str();
  app.add_option("--interleave", options.interleave,
                 "parts of the model that each stage has (interleaved one forward, one backward)")
      ->capture_default_str();
  app.add_option("--shard", raw.shard,
                 "none | optimizer | full: what data-parallel ranks divide (gradients reduced to owners and parameters "
                 "broadcast by them; or parameters gathered and gradients scattered layer by layer)")
      ->capture_default_str();
  app.add_option("--overlap", raw.overlap, "on | off: exchange gradients under the backward pass")
      ->capture_default_str();
  app.add_flag("--graphs", options.graphs, "launch a step as one CUDA graph (decode, batching)");
  app.add_option("--all-reduce", raw.all_reduce, "nccl | custom | symmetric: who does small all-reduces")
      ->capture_default_str();
  app.add_option("--algorithm", raw.algorithm, "ring | tree | nvls: how NCCL spreads the ends of a collective")
      ->capture_default_str();
  app.add_option("--noise", raw.noise,
                 "device_spread=,kernel_sigma_lo=,kernel_sigma_hi=,rho=,rho_sigma=,transfer_sigma=,end_frac=,"
                 "end_jitter_us=,length_sigma= (tokens of a step, between data-parallel replicas)");
  app.add_option("--cause", raw.causes, kCauseHelp);
  app.add_option("--defect", raw.defects, kDefectHelp);
  app.add_option("--clock", raw.clock,
                 "offset_ms=,drift_ppm=,bias_us=,step_us=,wander_ppm=,jitter_us=,tick_ns= (default: all clocks true)");
}

void AddFlags(CLI::App& app, RawFlags& raw, SimulatorOptions& options) {
  app.add_option("--program", raw.program, "decode | prefill | train | batching | pipeline | moe")
      ->capture_default_str();
  app.add_option("--tp", options.tp, "tensor-parallel size (default: all ranks not taken by --dp)");
  app.add_option("--pp", options.pp, "pipeline-parallel size")->capture_default_str();
  app.add_option("--dp", options.dp, "data-parallel size")->capture_default_str();
  app.add_option("--ep", options.ep, "expert-parallel size")->capture_default_str();
  app.add_option("--hosts", options.hosts, "number of hosts")->capture_default_str();
  app.add_option("--gpus-per-host", options.gpus_per_host, "ranks of a host (default: tp*pp*dp / hosts)");
  app.add_option("--steps", options.steps, "steps (tokens of decode, iterations of train)")->capture_default_str();
  app.add_option("--layers", options.layers, "transformer layers")->capture_default_str();
  app.add_option("--seed", raw.seed, "seed of all random numbers")->capture_default_str();
  app.add_option("--ids", raw.ids, "full | groups | names: what a trace says about its collectives")
      ->capture_default_str();
  app.add_option("--format", raw.format, "kineto | nsys | mixed (alternating by host)")->capture_default_str();
  app.add_option("--kineto-version", raw.kineto_version, "2021 | 2023 | 2024 | 2026")->capture_default_str();
  app.add_option("--nsys-schema", raw.nsys_schema, "2.7 | 3.0 | 3.7 | 3.13 | 3.25 | 3.28")->capture_default_str();
  app.add_option("--out", options.out, "folder to write traces and truth to, made if missing");
  app.add_option(
      "--stream-to", options.stream_to,
      "HOST:PORT of an aggregator (plaintext) that gets the run as from its agents; without --out nothing is "
      "written");
  app.add_option("--run", options.run, "name of the streamed run");
  app.add_option("--pace", options.pace,
                 "send as sources do that are watched while they run: so many seconds of the run in a second, each "
                 "batch when its time has come; what the aggregator has is told line by line (0: all at once)")
      ->capture_default_str();
  app.add_option("--batch-seconds", options.batch_seconds, "of the run's time in a batch of a paced stream")
      ->capture_default_str();
  app.add_flag("--no-gzip", raw.no_gzip, "write Kineto files plain");
  app.add_flag("--stacks", options.stacks, "add python_function rows (Kineto), as with_stack does");
  app.add_option("--host-rows", options.host_rows, "further host rows before each launch (large files)");
  app.add_flag("--overwrite", options.overwrite, "replace the files of an earlier simulation in --out");
  app.set_version_flag("--version", "lockstep-simulate " + std::string(Version()));
  app.footer(std::string(kExamples));
}

}  // namespace

CommandLine ParseCommandLine(int argc, const char* const* argv) {
  CommandLine command;
  command.options.argv.assign(argv, argv + argc);
  RawFlags raw;
  CLI::App app("Writes traces of a simulated multi-GPU job together with the truth about it.", "lockstep-simulate");
  AddFlags(app, raw, command.options);
  AddModelFlags(app, raw, command.options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    command.message = app.help();
    return command;
  } catch (const CLI::CallForVersion&) {
    command.message = app.version() + "\n";
    return command;
  } catch (const CLI::ParseError& error) {
    command.exit_code = 1;
    command.message = fmt::format("lockstep-simulate: {}; see --help\n", error.what());
    return command;
  }
  if (const absl::Status status = Understand(raw, command.options); !status.ok()) {
    command.exit_code = 1;
    command.message = fmt::format("lockstep-simulate: {}\n", std::string(status.message()));
    return command;
  }
  command.run = true;
  return command;
}

namespace {

absl::Status CheckPositive(const SimulatorOptions& options) {
  const std::array<std::pair<std::string_view, int32_t>, 8> counts = {{{"--pp", options.pp},
                                                                       {"--dp", options.dp},
                                                                       {"--ep", options.ep},
                                                                       {"--hosts", options.hosts},
                                                                       {"--steps", options.steps},
                                                                       {"--layers", options.layers},
                                                                       {"--micro-batches", options.micro_batches},
                                                                       {"--interleave", options.interleave}}};
  for (const auto& [flag, value] : counts) {
    if (value < 1 || value > 10'000'000) {
      return absl::InvalidArgumentError(fmt::format("{} {}: must be at least 1 and at most 10000000", flag, value));
    }
  }
  if (options.host_rows < 0 || options.host_rows > 1000) {
    return absl::InvalidArgumentError(fmt::format("--host-rows {}: between 0 and 1000", options.host_rows));
  }
  if (options.tp < 0 || options.gpus_per_host < 0) {
    return absl::InvalidArgumentError("--tp and --gpus-per-host must be positive");
  }
  if (!(options.model_scale >= 0.001 && options.model_scale <= 1000)) {
    return absl::InvalidArgumentError(fmt::format("--model-scale {}: between 0.001 and 1000", options.model_scale));
  }
  if (options.dp % options.ep != 0) {
    return absl::InvalidArgumentError(fmt::format(
        "--ep {} must divide --dp {}: experts are spread over data-parallel ranks", options.ep, options.dp));
  }
  return absl::OkStatus();
}

bool Trains(ProgramKind program) {
  return program == ProgramKind::kTrain || program == ProgramKind::kPipeline || program == ProgramKind::kMoe;
}

absl::Status CheckTraining(const SimulatorOptions& options) {
  const bool interleaves = options.interleave > 1;
  if (!interleaves && options.shard == Sharding::kNone) return absl::OkStatus();
  if (!Trains(options.program)) {
    return absl::InvalidArgumentError("--interleave and --shard need --program train, pipeline or moe");
  }
  if (options.shard != Sharding::kNone && options.dp < 2) {
    return absl::InvalidArgumentError("--shard divides among data-parallel ranks: needs --dp above 1");
  }
  if (!interleaves) return absl::OkStatus();
  if (options.pp < 2) return absl::InvalidArgumentError("--interleave needs --pp above 1");
  if (options.micro_batches % options.pp != 0) {
    return absl::InvalidArgumentError(fmt::format("--interleave: --micro-batches {} must be a multiple of --pp {}",
                                                  options.micro_batches, options.pp));
  }
  if (options.layers / options.pp < options.interleave) {
    return absl::InvalidArgumentError(fmt::format("--layers {}: at least --pp {} times --interleave {}", options.layers,
                                                  options.pp, options.interleave));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CompleteLayout(SimulatorOptions& options) {
  LOCKSTEP_RETURN_IF_ERROR(CheckPositive(options));
  LOCKSTEP_RETURN_IF_ERROR(CheckTraining(options));
  const int64_t rest = int64_t{options.pp} * options.dp;
  if (options.tp == 0) {
    const int64_t places = options.gpus_per_host > 0 ? int64_t{options.hosts} * options.gpus_per_host : 8 * rest;
    if (places % rest != 0) {
      return absl::InvalidArgumentError(
          fmt::format("{} ranks cannot be divided by pp*dp = {}; give --tp", places, rest));
    }
    options.tp = static_cast<int32_t>(std::min<int64_t>(places / rest, kMaxWorld + 1));
  }
  const int64_t world = options.tp * rest;
  if (world > kMaxWorld)
    return absl::InvalidArgumentError(fmt::format("{} ranks are too many (at most {})", world, kMaxWorld));
  if (options.gpus_per_host == 0 && world % options.hosts == 0) {
    options.gpus_per_host = static_cast<int32_t>(world / options.hosts);
  }
  if (int64_t{options.hosts} * options.gpus_per_host != world) {
    return absl::InvalidArgumentError(
        fmt::format("tp*pp*dp = {} ranks do not fill --hosts {} x --gpus-per-host {}; make both products equal", world,
                    options.hosts, options.gpus_per_host == 0 ? "?" : std::to_string(options.gpus_per_host)));
  }
  if (int64_t{options.steps} * options.layers > kMaxRecordsPerRank / 40) {
    return absl::InvalidArgumentError("--steps times --layers is too much for one run (at most 5000000)");
  }
  return absl::OkStatus();
}

std::string_view Name(ProgramKind program) { return kPrograms[static_cast<size_t>(program)]; }
std::string_view Name(IdLevel ids) { return kIds[static_cast<size_t>(ids)]; }

}  // namespace lockstep
