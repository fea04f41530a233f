#include "bench/simulator/simulator_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <span>

#include "analysis/base/status_macros.h"

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
  std::string clock;
  std::string stream_to;
  std::string run;
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
Exit codes: 0 done, 1 wrong usage or not built yet, 2 cannot write.)";

// Of a closed set of values: its position, else an error that lists the set. Values at or after `built` are known but
// not built yet.
absl::StatusOr<size_t> Choose(std::string_view flag, std::string_view value, std::span<const std::string_view> values,
                              size_t built) {
  const auto found = std::find(values.begin(), values.end(), value);
  if (found == values.end()) {
    return absl::InvalidArgumentError(fmt::format("{} {}: choose one of {}", flag, value, fmt::join(values, ", ")));
  }
  const auto index = static_cast<size_t>(found - values.begin());
  if (index >= built) {
    return absl::UnimplementedError(
        fmt::format("not built yet: {} {} (built: {})", flag, value, fmt::join(values.first(built), ", ")));
  }
  return index;
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

struct KindRow {
  std::string_view kind;
  std::string_view keys;
  bool built;
};

constexpr std::array kCauseKinds = {
    KindRow{"none", "", true},
    KindRow{"slow_gpu", "rank factor", true},
    KindRow{"late_host", "rank host us p", true},
    KindRow{"slow_kernel", "rank kernel factor", false},
    KindRow{"more_work", "rank factor", false},
    KindRow{"periodic_pause", "rank every ms", false},
    KindRow{"data_stall", "rank p ms", false},
    KindRow{"copy_contention", "rank gbps", false},
    KindRow{"slow_rail", "rail factor", false},
    KindRow{"stage_imbalance", "stage factor", false},
    KindRow{"expert_imbalance", "skew", false},
    KindRow{"transient", "rank from to factor", false},
};
constexpr std::array kDefectKinds = {
    KindRow{"stagger", "s", false},
    KindRow{"loss", "p", false},
    KindRow{"burst", "n", false},
    KindRow{"head", "n", false},
    KindRow{"absurd", "p", false},
    KindRow{"duplicate_rank", "rank", false},
    KindRow{"missing_rank", "rank", false},
    KindRow{"no_metadata", "", false},
    KindRow{"elided_groups", "", false},
    KindRow{"decoy", "", false},
    KindRow{"always_last", "host us", false},
    KindRow{"same_hostname", "", false},
    KindRow{"opaque_graphs", "", false},
};

absl::StatusOr<std::vector<Spec>> ParseKinds(std::string_view flag, const std::vector<std::string>& texts,
                                             std::span<const KindRow> rows) {
  std::vector<Spec> specs;
  for (const std::string& text : texts) {
    LOCKSTEP_ASSIGN_OR_RETURN(Spec spec, ParseSpec(text));
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const KindRow& r) { return r.kind == spec.kind; });
    if (row == rows.end()) {
      std::vector<std::string_view> kinds;
      for (const KindRow& r : rows) kinds.push_back(r.kind);
      return absl::InvalidArgumentError(
          fmt::format("{} {}: no such kind; known: {}", flag, text, fmt::join(kinds, ", ")));
    }
    LOCKSTEP_RETURN_IF_ERROR(CheckKeys(flag, spec, row->keys));
    if (!row->built) return absl::UnimplementedError(fmt::format("not built yet: {} {}", flag, spec.kind));
    if (spec.kind != "none") specs.push_back(std::move(spec));
  }
  return specs;
}

absl::Status ParseClock(const std::string& text, ClockMagnitudes& clock) {
  auto values = ParseKeyValues(text);
  if (!values.ok()) return absl::InvalidArgumentError("--clock: " + std::string(values.status().message()));
  const std::array<std::pair<std::string_view, double*>, 4> fields = {{{"offset_ms", &clock.offset_ms},
                                                                       {"drift_ppm", &clock.drift_ppm},
                                                                       {"bias_us", &clock.bias_us},
                                                                       {"step_us", &clock.step_us}}};
  for (const auto& [key, value] : *values) {
    const auto field = std::find_if(fields.begin(), fields.end(), [&k = key](const auto& f) { return f.first == k; });
    if (field == fields.end()) {
      return absl::InvalidArgumentError(
          fmt::format("--clock: no key '{}'; it takes offset_ms, drift_ppm, bias_us, step_us", key));
    }
    LOCKSTEP_ASSIGN_OR_RETURN(*field->second, ParseReal(value));
    if (*field->second < 0 || *field->second > 1e6) {
      return absl::InvalidArgumentError(fmt::format("--clock {}={}: a magnitude between 0 and 1e6", key, value));
    }
  }
  return absl::OkStatus();
}

constexpr std::array<std::string_view, 6> kPrograms = {"decode", "train", "prefill", "pipeline", "batching", "moe"};
constexpr std::array<std::string_view, 3> kIds = {"full", "groups", "names"};
constexpr std::array<std::string_view, 3> kForms = {"kineto", "nsys", "mixed"};
constexpr std::array<std::string_view, 4> kKinetoVersions = {"2021", "2023", "2024", "2026"};
constexpr std::array<int32_t, 4> kKinetoYears = {2021, 2023, 2024, 2026};
constexpr std::array<std::string_view, 6> kSchemas = {"2.7", "3.0", "3.7", "3.13", "3.25", "3.28"};
constexpr std::array<int32_t, 6> kSchemaMinors = {kSchema27, 0, 7, 13, 25, 28};

absl::Status UnderstandChoices(const RawFlags& raw, SimulatorOptions& options) {
  LOCKSTEP_ASSIGN_OR_RETURN(const size_t program, Choose("--program", raw.program, kPrograms, 2));
  LOCKSTEP_ASSIGN_OR_RETURN(const size_t ids, Choose("--ids", raw.ids, kIds, kIds.size()));
  LOCKSTEP_ASSIGN_OR_RETURN(const size_t form, Choose("--format", raw.format, kForms, kForms.size()));
  LOCKSTEP_ASSIGN_OR_RETURN(const size_t year,
                            Choose("--kineto-version", raw.kineto_version, kKinetoVersions, kKinetoVersions.size()));
  LOCKSTEP_ASSIGN_OR_RETURN(const size_t schema, Choose("--nsys-schema", raw.nsys_schema, kSchemas, kSchemas.size()));
  options.program = static_cast<ProgramKind>(program);
  options.ids = static_cast<IdLevel>(ids);
  options.form = static_cast<TraceForm>(form);
  options.kineto_version = kKinetoYears[year];
  options.nsys_schema_minor = kSchemaMinors[schema];
  return absl::OkStatus();
}

absl::Status Understand(const RawFlags& raw, SimulatorOptions& options) {
  LOCKSTEP_RETURN_IF_ERROR(UnderstandChoices(raw, options));
  LOCKSTEP_ASSIGN_OR_RETURN(options.causes, ParseKinds("--cause", raw.causes, kCauseKinds));
  LOCKSTEP_RETURN_IF_ERROR(ParseKinds("--defect", raw.defects, kDefectKinds).status());
  LOCKSTEP_RETURN_IF_ERROR(ParseClock(raw.clock, options.clock));
  const auto seed = ParseUnsigned(raw.seed);
  if (!seed.ok()) return absl::InvalidArgumentError("--seed: " + std::string(seed.status().message()));
  options.seed = *seed;
  options.gzip = !raw.no_gzip;
  if (!raw.stream_to.empty() || !raw.run.empty()) {
    return absl::UnimplementedError("not built yet: --stream-to and --run; write files with --out DIR");
  }
  if (options.out.empty()) return absl::InvalidArgumentError("say where to write: --out DIR");
  return CompleteLayout(options);
}

void AddFlags(CLI::App& app, RawFlags& raw, SimulatorOptions& options) {
  app.add_option("--program", raw.program, "decode | train | prefill | pipeline | batching | moe")
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
  app.add_option("--cause", raw.causes, "none | slow_gpu:rank=,factor= | late_host:rank=|host=,us=,p= (repeatable)");
  app.add_option("--defect", raw.defects, "damage of the files (repeatable)");
  app.add_option("--clock", raw.clock, "offset_ms=,drift_ppm=,bias_us=,step_us= (default: all clocks true)");
  app.add_option("--out", options.out, "folder to write to, made if missing");
  app.add_option("--stream-to", raw.stream_to, "HOST:PORT of an aggregator");
  app.add_option("--run", raw.run, "name of the streamed run");
  app.add_flag("--no-gzip", raw.no_gzip, "write Kineto files plain");
  app.add_flag("--stacks", options.stacks, "add python_function rows (Kineto), as with_stack does");
  app.add_option("--host-rows", options.host_rows, "further host rows before each launch (large files)");
  app.add_flag("--overwrite", options.overwrite, "replace the files of an earlier simulation in --out");
  app.set_version_flag("--version", std::string("lockstep-simulate ") + LOCKSTEP_VERSION);
  app.footer(std::string(kExamples));
}

}  // namespace

CommandLine ParseCommandLine(int argc, const char* const* argv) {
  CommandLine command;
  command.options.argv.assign(argv, argv + argc);
  RawFlags raw;
  CLI::App app("Writes traces of a simulated multi-GPU job together with the truth about it.", "lockstep-simulate");
  AddFlags(app, raw, command.options);
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
  const std::array<std::pair<std::string_view, int32_t>, 6> counts = {{{"--pp", options.pp},
                                                                       {"--dp", options.dp},
                                                                       {"--ep", options.ep},
                                                                       {"--hosts", options.hosts},
                                                                       {"--steps", options.steps},
                                                                       {"--layers", options.layers}}};
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
  if (options.pp > 1) return absl::UnimplementedError("not built yet: --pp above 1 (built: tensor and data parallel)");
  if (options.ep > 1) return absl::UnimplementedError("not built yet: --ep above 1 (built: tensor and data parallel)");
  return absl::OkStatus();
}

}  // namespace

absl::Status CompleteLayout(SimulatorOptions& options) {
  LOCKSTEP_RETURN_IF_ERROR(CheckPositive(options));
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
