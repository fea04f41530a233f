#include "cli/export_timeline.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent/progress_line.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/unit_text.h"
#include "analysis/report/json.h"
#include "analysis/report/rows/document.h"
#include "cli/filter_text.h"
#include "cli/timeline/report_timeline.h"
#include "cli/timeline/timeline_export.h"
#include "cli/timeline/trace_archive.h"
#include "cli/waiting_line.h"
#include "platform/command_line/command_line.h"
#include "platform/executor.h"
#include "platform/temp_dir.h"
#include "platform/whole_file.h"

namespace lockstep {
namespace {

constexpr const char* kTimelineGroup = "What of the run (--to perfetto, chrome; --ranks also of --to manifest)";

absl::StatusOr<TimelineOptions> TimelineOptionsFrom(const TimelineFlags& flags) {
  TimelineOptions options;
  if (!flags.ranks.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(options.ranks, ParseRanks(flags.ranks));
  }
  if (!flags.steps.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(options.steps, ParseStepRange(flags.steps));
  }
  if (!flags.time.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(options.time_ns, ParseTimeRange(flags.time));
  }
  if (flags.kernels == "all") options.kernels = KernelsWanted::kAll;
  if (flags.kernels == "none") options.kernels = KernelsWanted::kNone;
  if (!flags.max_size.empty()) {
    const std::optional<int64_t> bytes = ToInteger(flags.max_size);  // Bytes made it a number
    if (bytes) options.limit_bytes = *bytes;
  }
  return options;
}

void AddNamed(const report::Culprit& culprit, NamedRanks& named) {
  std::vector<int32_t> ranks = culprit.ranks;
  if (ranks.empty() && culprit.rank) ranks.push_back(*culprit.rank);
  std::string label = fmt::format("makes others wait: {} of all waiting", PercentText(culprit.share_of_wait_ratio));
  if (ranks.size() > 1) label += fmt::format(", as part of {} {}", culprit.scope, culprit.name.value_or(culprit.id));
  for (const int32_t rank : ranks) {
    if (named.labels.emplace(rank, label).second) named.ranks.push_back(rank);
  }
}

// Who the summary names, worst first.
absl::StatusOr<NamedRanks> NamedIn(const AnyRun& run) {
  WaitingLine waiting("computing who is late");
  AnalysisOptions options;
  options.views = {"summary", "quality"};  // an aggregator asked for the summary alone makes all views
  LOCKSTEP_ASSIGN_OR_RETURN(const Json json, run.query().Views(run.name(), options));
  NamedRanks named;
  const auto document = report::FromJson<report::Document>(json);
  if (!document.summary) return named;
  for (const report::Culprit& culprit : document.summary->culprits) AddNamed(culprit, named);
  return named;
}

TimelineInput InputOf(const AnyRun& run, const AnyRunOptions& input, NamedRanks named, ProgressLine& line) {
  TimelineInput of;
  of.run = run.name();
  of.has_traces = run.has_traces();
  of.named = std::move(named);
  of.reading.condense.read.step_range = input.step_range;
  of.reading.condense.tmp_dir = DefaultTempParent();
  of.reading.jobs = static_cast<size_t>(input.jobs);
  of.reading.progress = [&line](const SendProgress& progress) { line.Show(progress); };
  of.waiting = [](std::string what) { return std::make_shared<WaitingLine>(std::move(what)); };
  return of;
}

void TellOfTimeline(const TimelineResult& result, const std::string& output, int64_t file_bytes, bool for_perfetto) {
  fmt::print(stderr, "lockstep: wrote {}: {} slices of {} ranks, {}\n", output, CountText(result.slices), result.ranks,
             BytesText(static_cast<double>(file_bytes)));
  for (const std::string& what : result.left_out) fmt::print(stderr, "lockstep: left out: {}\n", what);
  if (!result.left_out.empty()) {
    fmt::print(stderr, "lockstep: --ranks, --steps and --time choose a part; --max-size allows a larger file\n");
  }
  if (result.bytes <= kBrowserBytes) return;
  fmt::print(stderr, "lockstep: {} is more than a browser holds well{}\n", BytesText(static_cast<double>(result.bytes)),
             for_perfetto ? fmt::format("; start `trace_processor server http {}` and then open ui.perfetto.dev, which "
                                        "finds it",
                                        output)
                          : std::string());
}

absl::Status ExportTimelineFile(const AnyRun& run, const LoadedRun& loaded, bool chrome, const TimelineOptions& asked,
                                const AnyRunOptions& input, const std::string& output, const std::stop_token& stop) {
  LOCKSTEP_ASSIGN_OR_RETURN(WholeFile file, WholeFile::Create(output, output.ends_with(".gz")));
  LOCKSTEP_ASSIGN_OR_RETURN(NamedRanks named, NamedIn(run));
  TimelineResult result;
  {
    ProgressLine line;
    LOCKSTEP_ASSIGN_OR_RETURN(result, ExportTimeline(
                                          loaded, InputOf(run, input, std::move(named), line), asked,
                                          chrome ? TimelineFormatKind::kChrome : TimelineFormatKind::kPerfetto,
                                          [&file](std::string_view bytes) { return file.Write(bytes); }, stop));
  }
  LOCKSTEP_RETURN_IF_ERROR(file.Commit());
  TellOfTimeline(result, output, file.size(), !chrome);
  return absl::OkStatus();
}

// An aggregator answers with reports: they tell of single collectives and steps, and of nothing else.
absl::Status ExportFromReport(const AnyRun& run, bool chrome, const TimelineOptions& asked, const std::string& output) {
  LOCKSTEP_ASSIGN_OR_RETURN(WholeFile file, WholeFile::Create(output, output.ends_with(".gz")));
  LOCKSTEP_ASSIGN_OR_RETURN(const NamedRanks named, NamedIn(run));
  WaitingLine waiting("waiting for the report");
  LOCKSTEP_ASSIGN_OR_RETURN(const Json json, run.query().Views(run.name(), TimelineViews(asked)));
  LOCKSTEP_ASSIGN_OR_RETURN(const TimelineResult result,
                            ExportReportTimeline(report::FromJson<report::Document>(json), run.name(), named, asked,
                                                 chrome ? TimelineFormatKind::kChrome : TimelineFormatKind::kPerfetto,
                                                 [&file](std::string_view bytes) { return file.Write(bytes); }));
  LOCKSTEP_RETURN_IF_ERROR(file.Commit());
  waiting.Clear();
  TellOfTimeline(result, output, file.size(), !chrome);
  return absl::OkStatus();
}

absl::Status ExportManifest(const AnyRun& run, const LoadedRun& loaded, const TimelineFlags& flags,
                            const TimelineOptions& asked, const std::string& output, const std::stop_token& stop) {
  if (!run.has_traces()) {
    return absl::FailedPreconditionError(
        "--to manifest packs the original trace files: name their folder instead of a stored run");
  }
  int64_t most_residual_ns = kMostResidualNs;
  if (!flags.max_residual.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(most_residual_ns, ParseDuration(flags.max_residual));
  }
  WaitingLine waiting("writing the archive");
  ThreadPool threads(0);
  LOCKSTEP_ASSIGN_OR_RETURN(const ArchiveResult result,
                            ExportArchive(loaded, run.name(), asked, most_residual_ns, output, threads, stop));
  waiting.Clear();
  fmt::print(stderr,
             "lockstep: wrote {}: {} trace files with their offsets, {}; a constant offset is wrong by at most {}\n",
             output, result.files, BytesText(static_cast<double>(result.bytes)), TimeText(result.residual_ns));
  return absl::OkStatus();
}

}  // namespace

void AddTimelineFlags(CLI::App& verb, TimelineFlags& flags) {
  verb.add_option("--ranks", flags.ranks, "only these ranks, such as 0,2,8-15")
      ->option_text("RANKS")
      ->group(kTimelineGroup);
  verb.add_option("--steps", flags.steps, "only these steps: A..B, or one")->option_text("A..B")->group(kTimelineGroup);
  verb.add_option("--time", flags.time, "only this time since the run began, such as 5s..7s")
      ->option_text("A..B")
      ->group(kTimelineGroup);
  verb.add_option(
          "--kernels", flags.kernels,
          "whose kernels: all; culprits (the ranks that are named and a few of their peers; of at most 16 ranks "
          "all); none")
      ->check(OneOf({"all", "culprits", "none"}))
      ->option_text("WHOSE")
      ->default_str("culprits")
      ->group(kTimelineGroup);
  verb.add_option("--max-size", flags.max_size,
                  "leave out what a file of this size has no room for, before compression; a browser holds about 300M")
      ->transform(Bytes(1))
      ->option_text("SIZE")
      ->default_str("300 MB")
      ->group(kTimelineGroup);
  verb.add_option("--max-residual", flags.max_residual,
                  "--to manifest: refuse if the one offset of a file is wrong by more, since its clock drifts")
      ->option_text("DURATION")
      ->default_str("10us")
      ->group(kTimelineGroup);
}

absl::Status CheckTimelineFlags(const CLI::App& verb, const std::string& format) {
  struct Use {
    const char* flag;
    std::vector<std::string> formats;
  };
  const std::vector<std::string> timelines = {"perfetto", "chrome"};
  const std::vector<Use> uses = {{"--ranks", {"perfetto", "chrome", "manifest"}},
                                 {"--steps", timelines},
                                 {"--time", timelines},
                                 {"--kernels", timelines},
                                 {"--max-size", timelines},
                                 {"--max-residual", {"manifest"}},
                                 {"--base", {"bundle"}}};
  for (const Use& use : uses) {
    if (verb.count(use.flag) == 0) continue;
    bool fits = false;
    for (const std::string& of : use.formats) fits = fits || of == format;
    if (fits) continue;
    return absl::InvalidArgumentError(fmt::format("{} means nothing with --to {}; it is for --to {}", use.flag, format,
                                                  fmt::join(use.formats, ", ")));
  }
  return absl::OkStatus();
}

absl::Status ExportForViewer(const std::string& name, const std::string& format, const TimelineFlags& flags,
                             const AnyRunOptions& input, const std::string& output, const std::stop_token& stop) {
  LOCKSTEP_ASSIGN_OR_RETURN(const TimelineOptions asked, TimelineOptionsFrom(flags));
  LOCKSTEP_ASSIGN_OR_RETURN(const AnyRun run, AnyRun::Open(name, input, stop));
  if (run.store() == nullptr) {
    if (format != "manifest") return ExportFromReport(run, format == "chrome", asked, output);
    return absl::FailedPreconditionError(
        "--to manifest packs the original trace files: name their folder instead of a run of an aggregator");
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const LoadedRun loaded, run.store()->LoadRun(run.name()));
  if (format == "manifest") return ExportManifest(run, loaded, flags, asked, output, stop);
  return ExportTimelineFile(run, loaded, format == "chrome", asked, input, output, stop);
}

}  // namespace lockstep
