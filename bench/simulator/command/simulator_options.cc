#include "bench/simulator/command/simulator_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "analysis/base/status_macros.h"
#include "analysis/base/version.h"
#include "bench/simulator/command/spec_kinds.h"
#include "platform/command_line/command_line.h"
#include "platform/host.h"
#include "platform/terminal.h"

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
      eight tensor-parallel ranks on one host; the host launches late for rank 3
  lockstep-simulate --program train --tp 8 --dp 4 --hosts 4 --format nsys \
      --ids groups --clock offset_ms=5 --out run
      32 ranks on four hosts whose clocks differ; one nsys export for each host
  lockstep-simulate --tp 2 --steps 40 --layers 80 --stacks --host-rows 4 \
      --no-gzip --out big
      few ranks with large files

Exit codes: 0 done; 1 wrong usage; 2 the traces cannot be written or sent.)";

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
          fmt::format("{} {}: there is no key '{}'; it takes {}", flag, spec.kind, key, keys.empty() ? "none" : keys));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Spec>> ParseKinds(std::string_view flag, const std::vector<std::string>& texts,
                                             std::span<const SpecKind> rows) {
  std::vector<Spec> specs;
  for (const std::string& text : texts) {
    LOCKSTEP_ASSIGN_OR_RETURN(Spec spec, ParseSpec(text));
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const SpecKind& r) { return r.kind == spec.kind; });
    if (row == rows.end()) {
      std::vector<std::string_view> kinds;
      for (const SpecKind& r : rows) kinds.push_back(r.kind);
      return absl::InvalidArgumentError(
          fmt::format("{} {}: there is no such kind; the kinds are {}", flag, text, fmt::join(kinds, ", ")));
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
      return absl::InvalidArgumentError(
          fmt::format("{}: there is no key '{}'; it takes {}", flag, key, fmt::join(keys, ", ")));
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
  LOCKSTEP_ASSIGN_OR_RETURN(options.causes, ParseKinds("--cause", raw.causes, CauseKinds()));
  LOCKSTEP_ASSIGN_OR_RETURN(options.defects, ParseKinds("--defect", raw.defects, DefectKinds()));
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
    return absl::InvalidArgumentError("name where to write: --out DIR, or --stream-to HOST:PORT --run NAME");
  }
  return CompleteLayout(options);
}

// An option with a default.
template <typename Value>
void AddValue(CLI::App& app, const char* group, const char* flag, Value& value, const char* text, const char* what) {
  app.add_option(flag, value, what)->option_text(text)->capture_default_str()->group(group);
}

void AddClusterFlags(CLI::App& app, SimulatorOptions& options) {
  constexpr const char* kGroup = "Cluster";
  app.add_option("--tp", options.tp, "tensor-parallel size (default: as many as fill the hosts; else 8)")
      ->option_text("N")
      ->group(kGroup);
  AddValue(app, kGroup, "--pp", options.pp, "N", "pipeline-parallel size");
  AddValue(app, kGroup, "--dp", options.dp, "N", "data-parallel size");
  AddValue(app, kGroup, "--ep", options.ep, "N", "expert-parallel size; it divides --dp");
  AddValue(app, kGroup, "--hosts", options.hosts, "N", "number of hosts");
  app.add_option("--gpus-per-host", options.gpus_per_host, "ranks of a host (default: tp * pp * dp / hosts)")
      ->option_text("N")
      ->group(kGroup);
}

void AddProgramFlags(CLI::App& app, RawFlags& raw, SimulatorOptions& options) {
  constexpr const char* kGroup = "Program";
  AddValue(app, kGroup, "--program", raw.program, "NAME", "decode, prefill, train, batching, pipeline or moe");
  AddValue(app, kGroup, "--steps", options.steps, "N", "steps: tokens of decode, iterations of train");
  AddValue(app, kGroup, "--layers", options.layers, "N", "transformer layers");
  AddValue(app, kGroup, "--model-scale", options.model_scale, "X", "compute kernels take X times as long");
  AddValue(app, kGroup, "--micro-batches", options.micro_batches, "N", "micro-batches of a pipelined step");
  AddValue(app, kGroup, "--interleave", options.interleave, "N",
           "parts of the model that each pipeline stage has (interleaved one forward, one backward)");
  AddValue(app, kGroup, "--shard", raw.shard, "WHAT",
           "what data-parallel ranks divide: none; optimizer (gradients are reduced to owners, which broadcast the "
           "parameters); full (parameters are gathered and gradients scattered layer by layer)");
  AddValue(app, kGroup, "--overlap", raw.overlap, "on|off", "exchange gradients during the backward pass");
  app.add_flag("--graphs", options.graphs, "launch a step as one CUDA graph (decode, batching)")->group(kGroup);
  AddValue(app, kGroup, "--all-reduce", raw.all_reduce, "KIND",
           "kernels of small all-reduces: nccl, custom (of the serving framework) or symmetric (NCCL)");
  AddValue(app, kGroup, "--algorithm", raw.algorithm, "NAME",
           "NCCL algorithm, which spreads the ends of a collective: ring, tree or nvls");
  AddValue(app, kGroup, "--seed", raw.seed, "N", "seed of all random numbers");
}

void AddConditionFlags(CLI::App& app, RawFlags& raw) {
  constexpr const char* kGroup = "What is wrong (each kind is described below)";
  const auto add = [&](const char* flag, auto& value, const char* form, const char* what) {
    app.add_option(flag, value, what)->option_text(form)->group(kGroup);
  };
  add("--cause", raw.causes, "KIND:KEY=VALUE,...",
      "why the run is slower than it could be; may be given several times");
  add("--defect", raw.defects, "KIND:KEY=VALUE,...", "what is wrong with the traces; may be given several times");
  add("--clock", raw.clock, "KEY=VALUE,...", "by how much clocks are wrong");
  add("--noise", raw.noise, "KEY=VALUE,...", "how much durations vary");
}

void AddTraceFlags(CLI::App& app, RawFlags& raw, SimulatorOptions& options) {
  constexpr const char* kGroup = "Traces";
  app.add_option("--out", options.out, "folder for the traces and the truth; it is created if it does not exist")
      ->option_text("DIR")
      ->group(kGroup);
  app.add_flag("--overwrite", options.overwrite, "replace the files of an earlier simulation in --out")->group(kGroup);
  AddValue(app, kGroup, "--format", raw.format, "FORMAT", "kineto, nsys or mixed (alternating by host)");
  AddValue(
      app, kGroup, "--ids", raw.ids, "LEVEL",
      "what the traces say about a collective: full (group and sequence number), groups (group) or names (only the "
      "name of the kernel)");
  AddValue(app, kGroup, "--kineto-version", raw.kineto_version, "YEAR", "2021, 2023, 2024 or 2026");
  AddValue(app, kGroup, "--nsys-schema", raw.nsys_schema, "VERSION", "2.7, 3.0, 3.7, 3.13, 3.25 or 3.28");
  app.add_flag("--no-gzip", raw.no_gzip, "write Kineto files uncompressed")->group(kGroup);
  app.add_flag("--stacks", options.stacks, "add python_function rows to Kineto files, as with_stack=True does")
      ->group(kGroup);
  app.add_option("--host-rows", options.host_rows, "further host rows before each launch, for large files")
      ->option_text("N")
      ->group(kGroup);
}

void AddStreamFlags(CLI::App& app, SimulatorOptions& options) {
  constexpr const char* kGroup = "Streaming";
  app.add_option("--stream-to", options.stream_to,
                 "aggregator (without TLS) that receives the run as if from its agents; without --out no files are "
                 "written")
      ->option_text("HOST:PORT")
      ->group(kGroup);
  app.add_option("--run", options.run, "name of the streamed run")->option_text("NAME")->group(kGroup);
  AddValue(app, kGroup, "--pace", options.pace, "X",
           "send as agents do that watch a running job: X seconds of the run in each second, each batch when its time "
           "has come, with a line on stdout about what the aggregator has; 0 sends everything at once");
  AddValue(app, kGroup, "--batch-seconds", options.batch_seconds, "SECONDS",
           "length of a batch with --pace, in time of the run");
}

}  // namespace

CommandLine ParseCommandLine(int argc, const char* const* argv) {
  CommandLine command;
  command.options.argv.assign(argv, argv + argc);
  RawFlags raw;
  CLI::App app("Writes the traces of a simulated multi-GPU job, together with the truth about it.",
               "lockstep-simulate");
  UsePlainHelp(app, "lockstep-simulate " + std::string(Version()));
  AddClusterFlags(app, command.options);
  AddProgramFlags(app, raw, command.options);
  AddConditionFlags(app, raw);
  AddTraceFlags(app, raw, command.options);
  AddStreamFlags(app, command.options);
  app.footer(HelpOfSpecs(TextColumnsOfStdout()) + std::string(kExamples));
  if (const ParsedFlags parsed = ParseFlags(app, argc, argv); !parsed.go_on) {
    command.exit_code = parsed.exit_code;
    command.message = parsed.text;
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
