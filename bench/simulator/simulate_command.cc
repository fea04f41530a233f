#include "bench/simulator/simulate_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "analysis/base/status_macros.h"
#include "bench/simulator/causes.h"
#include "bench/simulator/clock_field.h"
#include "bench/simulator/output_file.h"
#include "bench/simulator/simulation.h"
#include "bench/simulator/trace_writer.h"
#include "bench/simulator/truth.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// 2026-02-01 00:00:00 UTC: when the ranks begin. Profilers were started 1.5 s before.
constexpr int64_t kStartNs = 1'769'904'000'000'000'000;
constexpr int64_t kProfilerLeadNs = 1'500'000'000;

bool IsOurs(const std::string& name) {
  if (name == kTruthFile || name == kInstancesFile) return true;
  if (!name.starts_with("rank")) return false;
  return name.ends_with(".json") || name.ends_with(".json.gz") || name.ends_with(".sqlite") || name.ends_with(".tmp");
}

// The folder exists afterwards and holds nothing that could be taken for a part of this run.
absl::Status PrepareFolder(const SimulatorOptions& options) {
  std::error_code error;
  fs::create_directories(options.out, error);
  if (error) return FileError("cannot make the folder", options.out, error.value());
  std::vector<fs::path> old;
  for (fs::directory_iterator it(options.out, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!options.overwrite || !IsOurs(name)) {
      return absl::FailedPreconditionError(
          fmt::format("{} is not empty (it holds {}); name another folder{}", options.out, name,
                      options.overwrite || !IsOurs(name) ? "" : ", or replace an earlier simulation with --overwrite"));
    }
    old.push_back(it->path());
  }
  if (error) return FileError("cannot read the folder", options.out, error.value());
  for (const fs::path& path : old) {
    if (!fs::remove(path, error)) return FileError("cannot remove", path.string(), error.value());
  }
  return absl::OkStatus();
}

class Runner {
 public:
  Runner(const SimulatorOptions& options, const ProgressFunction& progress)
      : options_(options),
        progress_(progress),
        rng_(options.seed),
        cluster_(MakeCluster(options, rng_)),
        program_(MakeProgram(options)),
        run_{.options = &options_,
             .cluster = &cluster_,
             .program = program_.get(),
             .rng = rng_,
             .session_start_ns = kStartNs - kProfilerLeadNs} {}

  absl::Status Run() {
    LOCKSTEP_ASSIGN_OR_RETURN(causes_, PlaceCauses(options_.causes, cluster_, rng_));
    LOCKSTEP_RETURN_IF_ERROR(PrepareFolder(options_));
    std::vector<RankTimeline> ranks = Simulated(std::nullopt, true);
    TakeTruth(ranks);
    LOCKSTEP_RETURN_IF_ERROR(WriteInstances(run_, ranks, options_.out));
    const ClockField clocks(options_, cluster_, rng_, truth_.start_ns, truth_.end_ns);
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      clocks.Record(static_cast<int32_t>(rank), *program_, ranks[rank]);
    LOCKSTEP_RETURN_IF_ERROR(WriteHosts(ranks));
    return WriteTruth(run_, clocks, truth_, options_.out);
  }

 private:
  void Tell(std::string_view what, double done) const {
    if (progress_) progress_(what, done);
  }

  std::vector<RankTimeline> Simulated(std::optional<size_t> without, bool keep) const {
    const CauseEffects effects(causes_, without, cluster_.world(), rng_);
    SimulationInput input{.cluster = &cluster_,
                          .program = program_.get(),
                          .effects = &effects,
                          .rng = rng_,
                          .steps = options_.steps,
                          .start_ns = kStartNs,
                          .keep_records = keep};
    input.progress = [&](int32_t step) { Tell("simulating", static_cast<double>(step + 1) / options_.steps); };
    return Simulate(input);
  }

  void TakeTruth(const std::vector<RankTimeline>& ranks) {
    truth_.start_ns = kStartNs;
    for (const RankTimeline& timeline : ranks) {
      TruthOfRank known;
      for (const Activity& activity : timeline.activities) {
        if (activity.end_ns == 0) continue;
        known.first_ns = known.first_ns == 0 ? activity.start_ns : std::min(known.first_ns, activity.start_ns);
        known.last_ns = std::max(known.last_ns, activity.end_ns);
      }
      truth_.end_ns = std::max(truth_.end_ns, timeline.steps.back().end_ns);
      truth_.ranks.push_back(std::move(known));
    }
    const int64_t with = MeanStepNs(ranks);
    for (size_t i = 0; i < causes_.size(); ++i) {
      truth_.causes.push_back({causes_[i], with, MeanStepNs(Simulated(i, false))});
    }
  }

  absl::Status WriteHosts(const std::vector<RankTimeline>& ranks) {
    const std::unique_ptr<TraceWriter> kineto = MakeKinetoWriter(run_);
    const std::unique_ptr<TraceWriter> nsys = MakeNsysWriter(run_);
    for (int32_t host = 0; host < cluster_.hosts; ++host) {
      Tell("writing", static_cast<double>(host) / cluster_.hosts);
      const int32_t first = host * cluster_.gpus_per_host;
      const HostCapture capture{
          .host = host,
          .first_rank = first,
          .ranks = std::span(ranks).subspan(static_cast<size_t>(first), static_cast<size_t>(cluster_.gpus_per_host))};
      TraceWriter& writer = FormOfHost(options_, host) == TraceForm::kNsys ? *nsys : *kineto;
      LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<WrittenFile> files, writer.Write(capture, options_.out));
      for (const WrittenFile& file : files) {
        for (const int32_t rank : file.ranks) truth_.ranks[static_cast<size_t>(rank)].files.push_back(file.name);
      }
    }
    Tell("writing", 1);
    return absl::OkStatus();
  }

  const SimulatorOptions& options_;
  const ProgressFunction& progress_;
  CounterRng rng_;
  Cluster cluster_;
  std::unique_ptr<StepProgram> program_;
  RunDescription run_;
  std::vector<Cause> causes_;
  Truth truth_;
};

}  // namespace

absl::Status RunSimulation(const SimulatorOptions& options, const ProgressFunction& progress) {
  return Runner(options, progress).Run();
}

std::string LimitsOfForm(const SimulatorOptions& options) {
  const bool kineto = options.form != TraceForm::kNsys;
  const bool nsys = options.form != TraceForm::kKineto;
  std::string text;
  if (options.ids != IdLevel::kNames && kineto && options.kineto_version < 2024) {
    text += fmt::format("Kineto of {} held no collective metadata: its files tell ranks, not groups. ",
                        options.kineto_version);
  } else if (options.ids == IdLevel::kFull && kineto && options.kineto_version < 2026) {
    text += "Kineto of 2024 held no sequence numbers: its files tell groups. ";
  }
  if (options.ids != IdLevel::kNames && nsys && options.nsys_schema_minor < 13) {
    text += "This nsys schema has no payload tables: its files tell NCCL calls, not groups. ";
  } else if (options.ids == IdLevel::kFull && nsys && options.nsys_schema_minor < 25) {
    text += "This nsys schema is older than advanced NCCL tracing: its files tell groups. ";
  }
  return text;
}

}  // namespace lockstep
