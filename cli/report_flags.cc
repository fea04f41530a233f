#include "cli/report_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/run/family_names.h"
#include "analysis/report/report.h"
#include "cli/filter_text.h"
#include "platform/file_system.h"
#include "platform/log.h"

namespace lockstep {
namespace {

constexpr std::array<std::string_view, 6> kGroupings = {"full", "base", "mangled", "shape", "family", "category"};

absl::Status SetViews(const ReportFlags& flags, AnalysisOptions& options) {
  for (const std::string& view : flags.views) {
    if (view == "all") {
      options.views = AllViews();
      return absl::OkStatus();
    }
    if (!IsView(view)) {
      return Complain("--view", view, fmt::format("some of {} or all", fmt::join(AllViews(), " ")));
    }
    if (std::find(options.views.begin(), options.views.end(), view) == options.views.end()) {
      options.views.push_back(view);
    }
  }
  return absl::OkStatus();
}

absl::Status SetInstances(const ReportFlags& flags, AnalysisOptions& options) {
  if (flags.instances.empty()) {
    return absl::OkStatus();
  }
  options.instances = flags.instances == "all" ? -1 : ToInteger(flags.instances);
  const bool good = options.instances && *options.instances >= (flags.instances == "all" ? -1 : 0);
  return good ? absl::OkStatus() : Complain("--instances", flags.instances, "a number or all");
}

absl::Status SetCapture(const ReportFlags& flags, AnalysisOptions& options) {
  options.one_run = flags.one_run;
  options.capture_last = flags.capture == "last";
  if (flags.capture.empty() || options.capture_last) {
    return absl::OkStatus();
  }
  const auto number = ToInteger(flags.capture);
  if (!number || *number < 0 || *number > INT32_MAX) {
    return Complain("--capture", flags.capture, "a number from 0, or last");
  }
  options.capture = static_cast<int32_t>(*number);
  return absl::OkStatus();
}

absl::Status SetRestrictions(const ReportFlags& flags, AnalysisOptions& options) {
  if (!flags.steps.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(options.steps, ParseStepRange(flags.steps));
  }
  if (!flags.time.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(options.time_ns, ParseTimeRange(flags.time));
  }
  if (!flags.ranks.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(options.ranks, ParseRanks(flags.ranks));
  }
  return absl::OkStatus();
}

absl::Status SetFamilies(const ReportFlags& flags, AnalysisOptions& options) {
  if (flags.families.empty()) return absl::OkStatus();
  constexpr int64_t kMaxFileBytes = int64_t{4} << 20;
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(flags.families, kMaxFileBytes));
  LOCKSTEP_ASSIGN_OR_RETURN(options.families, ParseFamilies(text));
  return absl::OkStatus();
}

}  // namespace

void AddReportFlags(CLI::App& verb, ReportFlags& flags) {
  verb.add_option("--view", flags.views,
                  fmt::format("what to show, several by comma: {}, all", fmt::join(AllViews(), " ")))
      ->delimiter(',')
      ->default_str("summary");
  verb.add_option("--format", flags.format, "text, json (one document) or csv (one view)")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->default_str("text");
  verb.add_option("--csv-style", flags.csv_style,
                  "plain; nsys: nsys's headers and units; nsys-size: the same of the sizes of copies (--view memory)")
      ->check(CLI::IsMember({"plain", "nsys", "nsys-size"}))
      ->default_str("plain");
  verb.add_flag("--instances{1000}", flags.instances,
                "also list matched collective instances: =N or =all (default 1000)");
  verb.add_option("--sort", flags.sort, "key to sort a list view by, descending");
  verb.add_option("--limit", flags.limit, "rows of a list view")->check(CLI::NonNegativeNumber);
  verb.add_option("--steps", flags.steps, "A..B: these steps only, by launch, inclusive");
  verb.add_option("--time", flags.time, "A..B from the run's start, such as 5s..7s or 1m2s500ms..2m");
  verb.add_option("--ranks", flags.ranks, "these ranks only: 0,2,8-15");
  verb.add_option(
      "--nvtx", flags.nvtx,
      "what is launched inside ranges of this name only, on their thread: NVTX or annotations; DOMAIN:NAME or "
      "NAME@DOMAIN (a stored run: only the ranges of its --step-range, told apart by domain no longer)");
  verb.add_option("--kernels", flags.kernels, "kernels whose name matches this regular expression");
  verb.add_option(
      "--capture", flags.capture,
      "which capture of a run that has several: a number from 0, or last (default: the last that most ranks "
      "have)");
  verb.add_flag("--one-run", flags.one_run, "files that share no common time are one run: their clocks are wrong");
  verb.add_option("--group-by", flags.group_by, "kernels by full, base, mangled, shape, family or category")
      ->check(CLI::IsMember(std::vector<std::string>(kGroupings.begin(), kGroupings.end())))
      ->default_str("full");
  verb.add_option("--families", flags.families,
                  "file of lines 'family, text in the kernel's name', before the built-in ones");
  verb.add_option("--layout", flags.layout, "positions of the ranks, such as tp=8,pp=2,dp=4");
  verb.add_option("--output", flags.output, "write the result to this file instead of stdout");
  verb.add_option("--color", flags.color, "auto, always or never (NO_COLOR is honoured)")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->default_str("auto");
  verb.add_option("--log-level", flags.log_level, "debug, info, warning, error or off")
      ->check(CLI::IsMember({"debug", "info", "warning", "error", "off"}))
      ->default_str("warning");
  verb.add_flag("--strict", flags.strict, "exit 3 when a quality gate fails");
}

absl::StatusOr<AnalysisOptions> OptionsFrom(const ReportFlags& flags) {
  AnalysisOptions options;
  LOCKSTEP_RETURN_IF_ERROR(SetViews(flags, options));
  LOCKSTEP_RETURN_IF_ERROR(SetInstances(flags, options));
  LOCKSTEP_RETURN_IF_ERROR(SetCapture(flags, options));
  LOCKSTEP_RETURN_IF_ERROR(SetRestrictions(flags, options));
  LOCKSTEP_RETURN_IF_ERROR(SetFamilies(flags, options));
  if (flags.format == "csv" && options.views.size() != 1) {
    return absl::InvalidArgumentError("--format csv shows one view: choose it with --view");
  }
  const auto* grouping = std::find(kGroupings.begin(), kGroupings.end(), flags.group_by);
  options.group_by = static_cast<GroupBy>(grouping - kGroupings.begin());
  options.nvtx = flags.nvtx;
  options.kernels = flags.kernels;
  options.layout = flags.layout;
  options.sort = flags.sort;
  options.limit = flags.limit;
  return options;
}

}  // namespace lockstep
