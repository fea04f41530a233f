#include "cli/export_command.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/compare/compare.h"
#include "analysis/report/json.h"
#include "cli/bundle.h"
#include "cli/compared_runs.h"
#include "cli/export_timeline.h"
#include "cli/report_output.h"
#include "platform/command_line/command_line.h"
#include "platform/log.h"
#include "platform/signals.h"

namespace lockstep {
namespace {

struct ExportFlags {
  std::string run;
  std::string to = "bundle";
  std::string base;
  std::string output;
  AnyRunOptions input;
  TimelineFlags timeline;
  std::string log_level = "warning";
};

absl::StatusOr<std::optional<report::ComparisonDocument>> ComparisonWith(const std::string& base, const Json& report,
                                                                         const AnyRunOptions& options,
                                                                         const std::stop_token& stop) {
  if (base.empty()) return std::optional<report::ComparisonDocument>();
  compare::Sides sides;
  LOCKSTEP_ASSIGN_OR_RETURN(compare::ComparedRun of_base, ReadComparedRun(base, {}, options, stop));
  sides.base.push_back(std::move(of_base));
  LOCKSTEP_ASSIGN_OR_RETURN(compare::ComparedRun fresh,
                            compare::ComparedRunOf(report::FromJson<report::Document>(report), {}));
  sides.fresh.push_back(std::move(fresh));
  LOCKSTEP_ASSIGN_OR_RETURN(report::ComparisonDocument document, compare::Compare(std::move(sides), {}));
  return std::optional(std::move(document));
}

absl::Status ExportBundle(const ExportFlags& flags, const std::stop_token& stop) {
  std::vector<std::string> views = AllViews();
  views.emplace_back(kProfileView);
  LOCKSTEP_ASSIGN_OR_RETURN(const AnyRun run, AnyRun::Open(flags.run, flags.input, stop));
  AnalysisOptions options;
  options.views = std::move(views);
  LOCKSTEP_ASSIGN_OR_RETURN(const Json report, run.query().Views(run.name(), options));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto comparison, ComparisonWith(flags.base, report, flags.input, stop));
  LOCKSTEP_ASSIGN_OR_RETURN(const BundleFiles files, MakeBundle(report, comparison));
  LOCKSTEP_RETURN_IF_ERROR(WriteBundle(files, flags.output));
  fmt::print(stderr, "lockstep: wrote {} files to {}\n", files.size(), flags.output);
  return absl::OkStatus();
}

absl::Status ExportTo(const CLI::App& verb, const ExportFlags& flags, const std::stop_token& stop) {
  LOCKSTEP_RETURN_IF_ERROR(CheckTimelineFlags(verb, flags.to));
  if (flags.to == "bundle") return ExportBundle(flags, stop);
  return ExportForViewer(flags.run, flags.to, flags.timeline, flags.input, flags.output, stop);
}

int Export(const CLI::App& verb, const ExportFlags& flags) {
  SetLogLevel(*LogLevelFromName(flags.log_level));
  const StopOnSignals signals;
  const absl::Status done = ExportTo(verb, flags, signals.token());
  if (done.ok()) return kExitDone;
  const bool interrupted = signals.signal() != 0 && absl::IsCancelled(done);
  return Complain(done, interrupted ? 128 + signals.signal() : ExitCodeOf(done));
}

}  // namespace

std::function<int()> AddExportCommand(CLI::App& verb) {
  auto flags = std::make_shared<ExportFlags>();
  verb.add_option("RUN", flags->run,
                  "folder of traces, file, or name of a stored run (NAME@STORE names the store as well)")
      ->required();
  verb.add_option("--to", flags->to,
                  "bundle: a folder with the report, the kernel profile, tables as nsys stats prints them, and a "
                  "manifest with hashes; perfetto: all ranks on one time axis, for ui.perfetto.dev; chrome: the same "
                  "for older viewers; manifest: a ZIP of the original Kineto files with their clock offsets, for "
                  "Perfetto 58 or newer")
      ->check(OneOf({"bundle", "perfetto", "chrome", "manifest"}))
      ->option_text("FORMAT")
      ->default_str("bundle");
  verb.add_option("--output", flags->output,
                  "the folder or file to write; a timeline is compressed if its name ends in .gz")
      ->required()
      ->option_text("PATH");
  verb.add_option("--base", flags->base, "also compare with this run, and add the comparison")->option_text("RUN");
  verb.add_option("--step-range", flags->input.step_range,
                  "name of the NVTX ranges or annotations that mark steps, of traces that are read")
      ->option_text("NAME");
  verb.add_option("--log-level", flags->log_level, "debug, info, warning or error")
      ->check(OneOf({"debug", "info", "warning", "error"}))
      ->option_text("LEVEL")
      ->default_str("warning");
  AddTimelineFlags(verb, flags->timeline);
  AddRunSourceFlags(verb, flags->input.source);
  verb.footer(
      "Examples:\n"
      "  lockstep export traces/ --to bundle --output evidence/\n"
      "  lockstep export tuesday --store runs.db --base monday --output evidence/\n"
      "  lockstep export traces/ --to perfetto --output run.pftrace.gz\n"
      "  lockstep export traces/ --to perfetto --steps 10..12 --kernels all --output steps.pftrace\n"
      "  lockstep export traces/ --to manifest --output run.zip");
  return [flags, &verb] { return Export(verb, *flags); };
}

}  // namespace lockstep
