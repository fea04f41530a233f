#include "cli/compare_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/pipeline/run_context.h"
#include "analysis/base/status_macros.h"
#include "analysis/compare/compare.h"
#include "analysis/compare/render/render.h"
#include "analysis/compare/self.h"
#include "analysis/compare/sweep.h"
#include "cli/command.h"
#include "cli/compared_runs.h"
#include "cli/output_flags.h"
#include "cli/page_output.h"
#include "cli/report_output.h"
#include "platform/command_line/command_line.h"
#include "platform/file_system.h"
#include "platform/log.h"
#include "platform/signals.h"

namespace lockstep {
namespace {

constexpr int64_t kMaxFlagFileBytes = int64_t{4} << 20;

constexpr std::array<std::pair<const char*, compare::PairBy>, 4> kPairings = {{{"auto", compare::PairBy::kAuto},
                                                                               {"host", compare::PairBy::kHost},
                                                                               {"rank", compare::PairBy::kRank},
                                                                               {"none", compare::PairBy::kNone}}};

// The names of both sides.
struct SideNames {
  std::vector<std::string> base;
  std::vector<std::string> fresh;
};

absl::StatusOr<SideNames> NamesOf(const CompareFlags& flags) {
  SideNames names{flags.base, flags.fresh};
  if (!flags.runs.empty() && (!flags.base.empty() || !flags.fresh.empty())) {
    return absl::InvalidArgumentError("give the runs either as BASE NEW, or with --base and --new");
  }
  if (flags.runs.size() == 2) names = {{flags.runs[0]}, {flags.runs[1]}};
  if (names.base.empty() || names.fresh.empty() || (flags.runs.size() != 2 && !flags.runs.empty())) {
    return absl::InvalidArgumentError(
        "two runs are needed: lockstep compare BASE NEW, or several a side with --base RUN... --new RUN...");
  }
  return names;
}

// Context of one side: "base:KEY=VALUE" and "new:KEY=VALUE" are of that side alone.
absl::StatusOr<compare::RunContext> ContextFor(std::string_view side, const std::vector<std::string>& flags) {
  compare::RunContext context;
  for (const std::string& flag : flags) {
    const size_t colon = flag.find(':');
    const std::string_view before = std::string_view(flag).substr(0, colon == std::string::npos ? 0 : colon);
    const bool of_side = before == "base" || before == "new";
    if (of_side && before != side) continue;
    LOCKSTEP_RETURN_IF_ERROR(AddContext(of_side ? flag.substr(colon + 1) : flag, context));
  }
  return context;
}

absl::StatusOr<std::vector<compare::ComparedRun>> ReadSide(std::string_view side, const std::vector<std::string>& names,
                                                           const CompareFlags& flags, const std::stop_token& stop) {
  LOCKSTEP_ASSIGN_OR_RETURN(const compare::RunContext context, ContextFor(side, flags.context));
  std::vector<compare::ComparedRun> runs;
  for (const std::string& name : names) {
    LOCKSTEP_ASSIGN_OR_RETURN(compare::ComparedRun run, ReadComparedRun(name, context, flags.input, stop));
    runs.push_back(std::move(run));
  }
  return runs;
}

absl::StatusOr<compare::CompareRequest> RequestFrom(const CompareFlags& flags) {
  compare::CompareRequest request;
  for (const auto& [name, by] : kPairings) {
    if (flags.pair == name) request.pair_by = by;
  }
  if (!flags.kernel_map.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(flags.kernel_map, kMaxFlagFileBytes));
    LOCKSTEP_ASSIGN_OR_RETURN(request.kernel_map, compare::KernelMap::Parse(text, flags.kernel_map));
  }
  for (const std::string& text : flags.gates) {
    LOCKSTEP_ASSIGN_OR_RETURN(compare::Gate gate, compare::ParseGate(text));
    request.gates.push_back(std::move(gate));
  }
  if (!flags.gate_file.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(flags.gate_file, kMaxFlagFileBytes));
    LOCKSTEP_ASSIGN_OR_RETURN(std::vector<compare::Gate> gates, compare::ParseGates(text, flags.gate_file));
    std::move(gates.begin(), gates.end(), std::back_inserter(request.gates));
  }
  return request;
}

// The views asked for; gates always.
absl::StatusOr<std::vector<std::string>> ViewsFrom(const CompareFlags& flags) {
  const auto& known = compare::ComparisonViews();
  std::vector<std::string> views;
  for (const std::string& view : flags.views) {
    if (view == "all") return std::vector<std::string>(known.begin(), known.end());
    if (std::find(known.begin(), known.end(), view) == known.end()) {
      return absl::InvalidArgumentError(
          fmt::format("--view: there is no view '{}'; the views are {}, or all", view, fmt::join(known, ", ")));
    }
    views.push_back(view);
  }
  return views;
}

TextOptions TextOptionsOf(const CompareFlags& flags) {
  TextOptions options = TextOptionsFrom(flags);
  options.max_rows = flags.limit;
  return options;
}

absl::StatusOr<std::string> Render(const report::ComparisonDocument& document, std::vector<std::string> views,
                                   const CompareFlags& flags) {
  if (flags.format == "json") return compare::RenderJson(document);
  if (flags.format == "markdown") return compare::RenderMarkdown(document);
  if (flags.format == "html") return ComparisonPage(document);
  if (flags.format == "csv") {
    if (views.size() != 1) return absl::InvalidArgumentError("--format csv shows one view: ask for one with --view");
    return compare::RenderCsv(document, views.front());
  }
  views.emplace_back("gates");
  return compare::RenderText(document, views, TextOptionsOf(flags));
}

int CodeOfGates(const report::ComparisonDocument& document, bool strict_unclear) {
  const bool failed = std::any_of(document.gates.begin(), document.gates.end(), [&](const report::GateResult& gate) {
    return gate.verdict == "fails" || (strict_unclear && gate.verdict == "unclear");
  });
  return failed ? kExitRegression : kExitDone;
}

int WriteOut(const absl::StatusOr<std::string>& text, const CompareFlags& flags, int code) {
  if (!text.ok()) return Complain(text.status(), kExitUsage);
  const absl::Status written = WriteText(*text, flags.output);
  return written.ok() ? code : Complain(written, kExitNoInput);
}

int CheckSelf(const CompareFlags& flags) {
  const StopOnSignals signals;
  const absl::StatusOr<std::vector<compare::ComparedRun>> run = ReadSide("base", {flags.self}, flags, signals.token());
  if (!run.ok()) return Complain(run.status(), ExitCodeOf(run.status()));
  const report::SelfComparison checked = compare::CompareWithItself(run->front());
  if (flags.format == "json") return WriteOut(compare::RenderJson(checked), flags, kExitDone);
  return WriteOut(compare::RenderText(checked, TextOptionsOf(flags)), flags, kExitDone);
}

int CompareSides(const SideNames& names, const compare::CompareRequest& request, const std::vector<std::string>& views,
                 const CompareFlags& flags) {
  const StopOnSignals signals;
  compare::Sides sides;
  for (const auto& [side, of_side, runs] :
       {std::tuple("base", &names.base, &sides.base), std::tuple("new", &names.fresh, &sides.fresh)}) {
    absl::StatusOr<std::vector<compare::ComparedRun>> read = ReadSide(side, *of_side, flags, signals.token());
    if (!read.ok()) {
      const bool interrupted = signals.signal() != 0 && absl::IsCancelled(read.status());
      return Complain(read.status(), interrupted ? 128 + signals.signal() : ExitCodeOf(read.status()));
    }
    *runs = *std::move(read);
  }
  if (sides.base.size() == 1 && sides.fresh.size() == 1) {
    sides.earlier = EarlierRunsOf(sides.base.front(), {names.base.front(), names.fresh.front()}, flags.input);
  }
  const absl::StatusOr<report::ComparisonDocument> document = compare::Compare(std::move(sides), request);
  if (!document.ok()) return Complain(document.status(), kExitUsage);
  if (document->comparable.verdict == "no") fmt::print(stderr, "lockstep: {}\n", document->headline.sentence);
  const int code = document->comparable.verdict == "no" ? kExitNoInput : CodeOfGates(*document, flags.strict_unclear);
  return WriteOut(Render(*document, views, flags), flags, code);
}

// Runs of a sweep, in the order given; their context orders them.
int SweepRuns(const CompareFlags& flags) {
  const std::set<std::string> different(flags.runs.begin(), flags.runs.end());
  if (different.size() != flags.runs.size()) {
    return Complain(absl::InvalidArgumentError("--by takes each run once: one is given twice"), kExitUsage);
  }
  const StopOnSignals signals;
  const absl::StatusOr<std::vector<compare::ComparedRun>> runs = ReadSide("base", flags.runs, flags, signals.token());
  if (!runs.ok()) return Complain(runs.status(), ExitCodeOf(runs.status()));
  const absl::StatusOr<report::Sweep> sweep = compare::SweepOf(*runs, flags.by);
  if (!sweep.ok()) return Complain(sweep.status(), kExitUsage);
  if (flags.format == "json") return WriteOut(compare::RenderJson(*sweep), flags, kExitDone);
  if (flags.format == "csv") return WriteOut(compare::RenderCsv(*sweep), flags, kExitDone);
  return WriteOut(compare::RenderText(*sweep, TextOptionsOf(flags)), flags, kExitDone);
}

absl::Status CheckFormat(const CompareFlags& flags) {
  if (flags.format != "html") return absl::OkStatus();
  if (flags.self.empty() && flags.by.empty()) return CheckPages();
  return absl::InvalidArgumentError(
      "--format html shows two sides of a comparison: use text or json with --self and --by");
}

void AddSideFlags(CLI::App& verb, CompareFlags& flags) {
  constexpr const char* kGroup = "What to compare";
  verb.add_option("RUN", flags.runs,
                  "BASE NEW: two folders of traces, or two names of stored runs (NAME@STORE names the store as well)");
  verb.add_option("--base", flags.base,
                  "several runs of the base side: repeats show how much runs of the same code differ")
      ->option_text("RUN...")
      ->group(kGroup);
  verb.add_option("--new", flags.fresh, "several runs of the new side")->option_text("RUN...")->group(kGroup);
  verb.add_option("--self", flags.self, "instead compare a run with itself: how often would that raise a false alarm?")
      ->option_text("RUN")
      ->group(kGroup);
  verb.add_option("--by", flags.by,
                  "instead order three or more runs by a number of their context, such as seqlen, batch or ranks, and "
                  "show how the parts of a step grow with it")
      ->option_text("KEY")
      ->group(kGroup);
}

void AddMatchingFlags(CLI::App& verb, CompareFlags& flags) {
  constexpr const char* kGroup = "What to compare";
  verb.add_option("--pair", flags.pair,
                  "which ranks are compared with each other: those on the same GPU, else on the same place of the same "
                  "host, else of the same number (auto); host; rank; or none")
      ->check(OneOf({"auto", "host", "rank", "none"}))
      ->option_text("KIND")
      ->default_str("auto")
      ->group(kGroup);
  verb.add_option("--kernel-map", flags.kernel_map,
                  "file of lines 'OLD = NEW' or '/REGEX/ = NEW': kernels that are the same under another name")
      ->option_text("FILE")
      ->group(kGroup);
  verb.add_option("--context", flags.context,
                  "what the traces do not say, such as model=llama or tokens_per_step=4096; base:KEY=VALUE and "
                  "new:KEY=VALUE are of one side. A lockstep-context.json in a folder says the same")
      ->option_text("KEY=VALUE,...")
      ->delimiter(',')
      ->group(kGroup);
  verb.add_option("--step-range", flags.input.step_range,
                  "name of the NVTX ranges or annotations that mark steps, of traces that are read")
      ->option_text("NAME")
      ->group(kGroup);
  verb.add_option("--jobs", flags.input.jobs, "number of files read at a time (default: the number of cores)")
      ->check(WholeNumber(1))
      ->option_text("N")
      ->group(kGroup);
}

void AddGateFlags(CLI::App& verb, CompareFlags& flags) {
  constexpr const char* kGroup = "Gates";
  verb.add_option("--gate", flags.gates,
                  "largest change that is allowed: step_time<=2%, exposed_wait<=500us, kernel:flash.*<=3%, "
                  "family:gemm<=1%, throughput>=-1%. The exit code is 4 where the whole 95 % interval is beyond it")
      ->option_text("GATE")
      ->group(kGroup);
  verb.add_option("--gate-file", flags.gate_file, "file with one gate a line")->option_text("FILE")->group(kGroup);
  verb.add_flag("--strict-unclear", flags.strict_unclear, "a gate that cannot be decided fails, too")->group(kGroup);
}

void AddShownFlags(CLI::App& verb, CompareFlags& flags) {
  constexpr const char* kGroup = "What to show";
  verb.add_option("--view", flags.views,
                  fmt::format("one or more views, separated by commas: {}, or all",
                              fmt::join(compare::ComparisonViews(), ", ")))
      ->delimiter(',')
      ->option_text("VIEW,...")
      ->default_str("comparison")
      ->group(kGroup);
  verb.add_option("--limit", flags.limit, "show at most N rows of a table")
      ->check(WholeNumber(0))
      ->option_text("N")
      ->default_str("20")
      ->group(kGroup);
  AddOutputFlags(verb, {"text", "json", "csv", "markdown", "html"},
                 "text, json (one document), csv (one view), markdown (for a pull request) or html (one page with "
                 "pictures, for a browser)",
                 flags);
}

}  // namespace

void AddComparisonFlags(CLI::App& verb, CompareFlags& flags) {
  AddMatchingFlags(verb, flags);
  AddRunSourceFlags(verb, flags.input.source);
  AddGateFlags(verb, flags);
  AddShownFlags(verb, flags);
}

int CompareRuns(const CompareFlags& flags) {
  SetLogLevel(*LogLevelFromName(flags.log_level));
  if (const absl::Status fits = CheckFormat(flags); !fits.ok()) return Complain(fits, kExitUsage);
  const bool two_sides = flags.self.empty() && flags.by.empty();
  if (!two_sides && (!flags.gates.empty() || !flags.gate_file.empty())) {
    return Complain(absl::InvalidArgumentError("a gate needs two sides: it is not for --self and --by"), kExitUsage);
  }
  if (!flags.self.empty()) {
    if (flags.runs.empty() && flags.base.empty() && flags.fresh.empty()) return CheckSelf(flags);
    return Complain(absl::InvalidArgumentError("--self compares one run with itself: give no other run"), kExitUsage);
  }
  if (!flags.by.empty()) {
    if (flags.base.empty() && flags.fresh.empty()) return SweepRuns(flags);
    return Complain(absl::InvalidArgumentError("--by takes its runs without --base and --new"), kExitUsage);
  }
  const auto names = NamesOf(flags);
  if (!names.ok()) return Complain(names.status(), kExitUsage);
  const auto request = RequestFrom(flags);
  if (!request.ok()) return Complain(request.status(), kExitUsage);
  const auto views = ViewsFrom(flags);
  if (!views.ok()) return Complain(views.status(), kExitUsage);
  return CompareSides(*names, *request, *views, flags);
}

std::function<int()> AddCompareCommand(CLI::App& verb) {
  auto flags = std::make_shared<CompareFlags>();
  AddSideFlags(verb, *flags);
  AddComparisonFlags(verb, *flags);
  verb.footer(
      "Examples:\n"
      "  lockstep compare monday/ tuesday/\n"
      "      slower or faster, by how much, how sure, and where the change comes from\n"
      "  lockstep compare --base a1/ a2/ a3/ --new b1/ b2/ b3/\n"
      "      repeats separate a change from the noise between runs\n"
      "  lockstep compare v1 v2 --store runs.db --view kernels,waits\n"
      "  lockstep compare --by seqlen s1k/ s2k/ s4k/\n"
      "      how the step grows with the context length, and what should not\n"
      "  lockstep compare base/ new/ --gate 'step_time<=2%' --format markdown\n"
      "      for a pipeline: exit code 4 where the step time grew by more than 2 %");
  return [flags] { return CompareRuns(*flags); };
}

}  // namespace lockstep
