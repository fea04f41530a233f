#include "bench/simulator/command/simulate_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "analysis/base/status_macros.h"
#include "bench/simulator/run/output_file.h"
#include "bench/simulator/run/trace_writer.h"
#include "bench/simulator/run/truth.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

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

// Moves what a writer left in a folder of its own to the other files, under new names.
absl::StatusOr<std::vector<std::string>> MoveOut(const std::string& from, const std::string& to,
                                                 std::string_view mark) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(from, error)) {
    const std::string old = entry.path().filename().string();
    const size_t dot = old.find('.');
    names.push_back(fmt::format("{}{}{}", old.substr(0, dot), mark, old.substr(dot)));
    fs::rename(entry.path(), to + "/" + names.back(), error);
    if (error) return FileError("cannot write", to + "/" + names.back(), error.value());
  }
  fs::remove(from, error);
  return names;
}

class FilesOfRun {
 public:
  FilesOfRun(Scenario& scenario, const ProgressFunction& progress)
      : s_(scenario),
        progress_(progress),
        kineto_(MakeKinetoWriter(scenario.run)),
        nsys_(MakeNsysWriter(scenario.run)) {}

  absl::Status Write() {
    LOCKSTEP_RETURN_IF_ERROR(WriteInstances(s_.cluster, s_.instances, s_.options.out));
    for (int32_t host = 0; host < s_.cluster.hosts; ++host) {
      if (progress_) progress_("writing", static_cast<double>(host) / s_.cluster.hosts);
      LOCKSTEP_RETURN_IF_ERROR(WriteHost(host));
    }
    if (s_.duplicate) LOCKSTEP_RETURN_IF_ERROR(WriteDuplicate(*s_.defects.duplicate_rank));
    return WriteTruth(s_.run, *s_.clocks, s_.truth, s_.options.out);
  }

 private:
  [[nodiscard]] TraceWriter& WriterOf(int32_t host) const {
    return FormOfHost(s_.options, host) == TraceForm::kNsys ? *nsys_ : *kineto_;
  }

  // A missing rank parts its host's capture in two.
  absl::Status WriteHost(int32_t host) {
    const int32_t first = host * s_.cluster.gpus_per_host;
    const int32_t end = first + s_.cluster.gpus_per_host;
    const int32_t gap = s_.defects.missing_rank.value_or(-1);
    if (gap < first || gap >= end) return WriteRanks(host, first, end);
    LOCKSTEP_RETURN_IF_ERROR(WriteRanks(host, first, gap));
    return WriteRanks(host, gap + 1, end);
  }

  absl::Status WriteRanks(int32_t host, int32_t first, int32_t end) {
    if (first == end) return absl::OkStatus();
    const HostCapture capture{
        .host = host,
        .first_rank = first,
        .ranks = std::span(s_.recorded).subspan(static_cast<size_t>(first), static_cast<size_t>(end - first))};
    LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<WrittenFile> files, WriterOf(host).Write(capture, s_.options.out));
    for (const WrittenFile& file : files) {
      for (const int32_t rank : file.ranks) s_.truth.ranks[static_cast<size_t>(rank)].files.push_back(file.name);
    }
    return absl::OkStatus();
  }

  absl::Status WriteDuplicate(int32_t rank) {
    const std::string folder = s_.options.out + "/duplicate";
    std::error_code error;
    fs::create_directory(folder, error);
    if (error) return FileError("cannot make the folder", folder, error.value());
    const int32_t host = s_.cluster.ranks[static_cast<size_t>(rank)].host;
    const HostCapture capture{.host = host, .first_rank = rank, .ranks = std::span(&*s_.duplicate, 1)};
    LOCKSTEP_RETURN_IF_ERROR(WriterOf(host).Write(capture, folder).status());
    LOCKSTEP_ASSIGN_OR_RETURN(const auto names, MoveOut(folder, s_.options.out, "_again"));
    auto& files = s_.truth.ranks[static_cast<size_t>(rank)].files;
    files.insert(files.end(), names.begin(), names.end());
    return absl::OkStatus();
  }

  Scenario& s_;
  const ProgressFunction& progress_;
  std::unique_ptr<TraceWriter> kineto_;
  std::unique_ptr<TraceWriter> nsys_;
};

}  // namespace

absl::Status RunSimulation(const SimulatorOptions& options, const StreamFunction& stream,
                           const ProgressFunction& progress) {
  // What cannot be placed is said before a folder is touched; a full run is worth nothing without one.
  LOCKSTEP_RETURN_IF_ERROR(CheckPlaces(options));
  const bool files = !options.out.empty();
  if (files) LOCKSTEP_RETURN_IF_ERROR(PrepareFolder(options));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::unique_ptr<Scenario> scenario,
                            MakeScenario(options, {.step_times_without = files}, progress));
  if (files) LOCKSTEP_RETURN_IF_ERROR(FilesOfRun(*scenario, progress).Write());
  if (files && progress) progress("writing", 1);
  return options.stream_to.empty() ? absl::OkStatus() : stream(*scenario);
}

namespace {

// Defects that these traces cannot have.
std::string IdleDefects(const SimulatorOptions& options) {
  std::string text;
  for (const Spec& spec : options.defects) {
    if (spec.kind == "opaque_graphs" && (!options.graphs || options.form == TraceForm::kKineto)) {
      text += "The defect opaque_graphs needs --graphs and nsys traces: it changes nothing here. ";
    }
    if (spec.kind == "elided_groups" && (options.form == TraceForm::kNsys || options.ids == IdLevel::kNames)) {
      text += "The defect elided_groups needs Kineto traces with groups: it changes nothing here. ";
    }
    if (spec.kind == "same_hostname" && options.hosts < 2) {
      text += "The defect same_hostname needs --hosts above 1: it changes nothing here. ";
    }
  }
  return text;
}

}  // namespace

std::string LimitsOfForm(const SimulatorOptions& options) {
  const bool kineto = options.form != TraceForm::kNsys;
  const bool nsys = options.form != TraceForm::kKineto;
  std::string text;
  if (options.ids != IdLevel::kNames && kineto && options.kineto_version < 2024) {
    text += fmt::format("Kineto of {} has no metadata of collectives: its files name ranks, not groups. ",
                        options.kineto_version);
  } else if (options.ids == IdLevel::kFull && kineto && options.kineto_version < 2026) {
    text += "Kineto of 2024 has no sequence numbers: its files name groups only. ";
  }
  if (options.ids != IdLevel::kNames && nsys && options.nsys_schema_minor < 13) {
    text += "This nsys schema has no payload tables: its files name NCCL calls, not groups. ";
  } else if (options.ids == IdLevel::kFull && nsys && options.nsys_schema_minor < 25) {
    text += "This nsys schema is older than advanced NCCL tracing: its files name groups only. ";
  }
  return text + IdleDefects(options);
}

}  // namespace lockstep
