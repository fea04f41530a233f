#include "cli/report_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/run/family_names.h"
#include "analysis/report/report.h"
#include "cli/filter_text.h"
#include "cli/page_output.h"
#include "platform/command_line/command_line.h"
#include "platform/file_system.h"
#include "platform/log.h"
#include "web/answers/page_data.h"

namespace lockstep {
namespace {

constexpr std::array<const char*, 6> kGroupings = {"full", "base", "mangled", "shape", "family", "category"};

absl::Status UnknownView(const std::string& view) {
  const auto meant = Nearest(view, KnownViews());
  return absl::InvalidArgumentError(
      fmt::format("--view: there is no view '{}'; {}", view,
                  meant ? fmt::format("did you mean '{}'?", *meant)
                        : fmt::format("the views are {}, or all", fmt::join(AllViews(), ", "))));
}

absl::Status SetViews(const ReportFlags& flags, AnalysisOptions& options) {
  if (flags.format == "html") {
    if (flags.views != ReportFlags().views) {
      return absl::InvalidArgumentError("--format html shows all views on one page: leave out --view");
    }
    options.views = PageViews();
    return CheckPages();
  }
  for (const std::string& view : flags.views) {
    if (view == "all") {
      options.views = AllViews();
      return absl::OkStatus();
    }
    if (!IsView(view)) {
      return UnknownView(view);
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
  absl::StatusOr<std::vector<FamilyWord>> families = ParseFamilies(text);
  if (!families.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("--families {}: {}", flags.families, std::string(families.status().message())));
  }
  options.families = *std::move(families);
  return absl::OkStatus();
}

void AddViewFlags(CLI::App& verb, ReportFlags& flags) {
  constexpr const char* kGroup = "What to show";
  verb.add_option("--view", flags.views,
                  fmt::format("one or more views, separated by commas: {}, or all", fmt::join(AllViews(), ", ")))
      ->delimiter(',')
      ->option_text("VIEW,...")
      ->default_str("summary")
      ->group(kGroup);
  verb.add_flag("--instances{1000}", flags.instances,
                "view skew: also list N single collectives (1000 if no number is given)")
      ->option_text("[=N|all]")
      ->group(kGroup);
  verb.add_option("--sort", flags.sort, "sort a list by this key of its JSON, largest first")
      ->option_text("KEY")
      ->group(kGroup);
  verb.add_option("--limit", flags.limit, "show at most N rows of a list")
      ->check(WholeNumber(0))
      ->option_text("N")
      ->group(kGroup);
  verb.add_option("--group-by", flags.group_by,
                  "what counts as one kernel: its full, base or mangled name, its name and launch shape (shape), its "
                  "family or its category")
      ->check(OneOf({kGroupings.begin(), kGroupings.end()}))
      ->option_text("KIND")
      ->default_str("full")
      ->group(kGroup);
  verb.add_option("--families", flags.families,
                  "file of lines 'FAMILY, WORD': kernels whose name contains WORD belong to FAMILY; these lines come "
                  "before the built-in ones")
      ->option_text("FILE")
      ->group(kGroup);
  verb.add_option("--layout", flags.layout,
                  "sizes of the parallelism axes (tp, cp, ep, dp, pp), such as tp=8,pp=2,dp=4; their product is the "
                  "number of ranks. order=tp-dp-pp names the axes from the fastest on")
      ->option_text("SIZES")
      ->group(kGroup);
}

void AddRestrictions(CLI::App& verb, ReportFlags& flags) {
  constexpr const char* kGroup = "Which part of the run";
  verb.add_option("--steps", flags.steps, "only what was launched in these steps, both included: 10..20, or 7")
      ->option_text("A..B")
      ->group(kGroup);
  verb.add_option("--time", flags.time,
                  "only this time, counted from the start of the run: 5s..7s, 1m2s500ms..2m; units ns, us, ms, s, m")
      ->option_text("A..B")
      ->group(kGroup);
  verb.add_option("--ranks", flags.ranks, "only these ranks: 0,2,8-15")->option_text("LIST")->group(kGroup);
  verb.add_option("--nvtx", flags.nvtx,
                  "only what a thread launched inside its NVTX ranges (or annotations) of this name; DOMAIN:NAME and "
                  "NAME@DOMAIN name the domain as well. A stored run has only the ranges of its --step-range, without "
                  "their domains")
      ->option_text("NAME")
      ->group(kGroup);
  verb.add_option("--kernels", flags.kernels, "only kernels whose name matches this regular expression")
      ->option_text("REGEX")
      ->group(kGroup);
  verb.add_option("--capture", flags.capture,
                  "which capture to use if the ranks were captured several times: a number from 0, or last (default: "
                  "the last one that most ranks have)")
      ->option_text("K")
      ->group(kGroup);
  verb.add_flag("--one-run", flags.one_run,
                "treat the files as one run even if their times do not overlap, because their clocks are wrong")
      ->group(kGroup);
}

void AddReportOutputFlags(CLI::App& verb, ReportFlags& flags) {
  constexpr const char* kGroup = "Output";
  AddOutputFlags(verb, {"text", "json", "csv", "html"},
                 "text, json (one document), csv (one view) or html (one page with pictures, for a browser)", flags);
  verb.add_option("--csv-style", flags.csv_style,
                  "plain; nsys: the columns and units of `nsys stats`; nsys-size: the same for the sizes of copies "
                  "(--view memory)")
      ->check(OneOf({"plain", "nsys", "nsys-size"}))
      ->option_text("STYLE")
      ->default_str("plain")
      ->group(kGroup);
  verb.add_flag("--strict", flags.strict, "exit with 3 if a quality gate fails")->group(kGroup);
}

}  // namespace

void AddReportFlags(CLI::App& verb, ReportFlags& flags) {
  AddViewFlags(verb, flags);
  AddRestrictions(verb, flags);
  AddReportOutputFlags(verb, flags);
}

absl::StatusOr<AnalysisOptions> OptionsFrom(const ReportFlags& flags) {
  AnalysisOptions options;
  LOCKSTEP_RETURN_IF_ERROR(SetViews(flags, options));
  LOCKSTEP_RETURN_IF_ERROR(SetInstances(flags, options));
  LOCKSTEP_RETURN_IF_ERROR(SetCapture(flags, options));
  LOCKSTEP_RETURN_IF_ERROR(SetRestrictions(flags, options));
  LOCKSTEP_RETURN_IF_ERROR(SetFamilies(flags, options));
  if (flags.format == "csv" && options.views.size() != 1) {
    return absl::InvalidArgumentError("--format csv shows one view; choose it with --view");
  }
  if (flags.format != "csv" && flags.csv_style != ReportFlags().csv_style) {
    return absl::InvalidArgumentError("--csv-style needs --format csv");
  }
  if (options.instances != AnalysisOptions().instances &&
      std::find(options.views.begin(), options.views.end(), "skew") == options.views.end()) {
    return absl::InvalidArgumentError("--instances needs --view skew");
  }
  const auto grouping = std::find(kGroupings.begin(), kGroupings.end(), flags.group_by);
  options.group_by = static_cast<GroupBy>(grouping - kGroupings.begin());
  options.nvtx = flags.nvtx;
  options.kernels = flags.kernels;
  if (!flags.layout.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(options.layout, ParallelLayout::Parse(flags.layout));
  }
  options.sort = flags.sort;
  options.limit = flags.limit;
  return options;
}

}  // namespace lockstep
