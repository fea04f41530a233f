#include "cli/analyze_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "agent/rank_map.h"
#include "analysis/base/ascii.h"
#include "analysis/base/status_macros.h"
#include "analysis/condense/selection.h"
#include "analysis/model/kernel_class.h"
#include "cli/embedded_cluster.h"
#include "cli/input_problems.h"
#include "cli/report_flags.h"
#include "cli/report_output.h"
#include "cli/stored_steps.h"
#include "cli/time_windows.h"
#include "cli/trace_ingest.h"
#include "platform/command_line/command_line.h"
#include "platform/host.h"
#include "platform/log.h"
#include "platform/signals.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

struct AnalyzeFlags {
  std::vector<std::string> paths;
  std::string run;
  std::string store;
  std::string rank_map;
  std::string host = "none";
  std::string step_range;
  std::vector<std::string> context;
  std::string tmp;
  int32_t expect_ranks = -1;
  int64_t jobs = 0;
  bool replace = false;
  ReportFlags report;
};

// Restricting to ranges of a name needs them condensed as steps, also where only a domain says which of the ranges that
// mark steps are meant. What is stored does not depend on what is asked for.
std::string StepRangeOf(const AnalyzeFlags& flags) {
  const std::string& asked = flags.report.nvtx;
  const bool narrows = flags.step_range.empty() || IsRangeAskedFor(asked, flags.step_range);
  return flags.store.empty() && !asked.empty() && narrows ? asked : flags.step_range;
}

absl::StatusOr<EmbeddedIngest> IngestFrom(const AnalyzeFlags& flags) {
  EmbeddedIngest ingest;
  ingest.inputs = ListInputs(flags.paths);
  LOCKSTEP_RETURN_IF_ERROR(TakeOutContextFiles(ingest.inputs));
  ingest.run = flags.run.empty() ? RunNameOf(ingest.inputs.files) : flags.run;
  ingest.expected_ranks = flags.expect_ranks;
  ingest.replace = flags.replace;
  CondenseFileOptions& condense = ingest.send.condense;
  condense.read.step_range = StepRangeOf(flags);
  condense.tmp_dir = flags.tmp.empty() ? DefaultTempParent() : flags.tmp;
  condense.host = flags.host == "auto" ? HostName() : flags.host == "none" ? "" : flags.host;
  if (!flags.rank_map.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(condense.rank_map, ReadRankMap(flags.rank_map));
  }
  for (const std::string& text : flags.context) {
    LOCKSTEP_RETURN_IF_ERROR(AddContext(text, condense.context));
  }
  ingest.send.jobs = static_cast<size_t>(flags.jobs);
  return ingest;
}

// The condensed files, and what became of them.
struct Condensed {
  std::unique_ptr<EmbeddedCluster> cluster;
  IngestOutcome outcome;
};

absl::StatusOr<Condensed> CondenseFiles(const AnalyzeFlags& flags, EmbeddedIngest ingest, const std::stop_token& stop) {
  Condensed condensed;
  LOCKSTEP_ASSIGN_OR_RETURN(condensed.cluster, EmbeddedCluster::Open({.store_path = flags.store,
                                                                      .threads = static_cast<size_t>(flags.jobs)}));
  if (!flags.store.empty() && !flags.replace) {
    std::string& step_range = ingest.send.condense.read.step_range;
    LOCKSTEP_ASSIGN_OR_RETURN(step_range, StepRangeOfRun(condensed.cluster->store(), ingest.run, step_range));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(condensed.outcome, IngestWithProgress(*condensed.cluster, std::move(ingest), stop));
  return condensed;
}

// A stored run is stored whole, and restricted when it is asked about. A run that is not stored is condensed exactly as
// it was asked for; a time counts from the run's start on the aligned clocks, so the files are read a second time once
// these are known.
absl::StatusOr<Condensed> CondenseAsAsked(const AnalyzeFlags& flags, const AnalysisOptions& asked,
                                          EmbeddedIngest ingest, const std::stop_token& stop) {
  if (!flags.store.empty()) {
    return CondenseFiles(flags, ingest, stop);
  }
  for (const FamilyWord& word : asked.families) {
    if (word.family == Name(Family::kCommunication)) ingest.send.condense.communication.push_back(Lowered(word.text));
  }
  FileSelection& selection = ingest.send.condense.selection;
  selection.steps = asked.steps;
  selection.nvtx = asked.nvtx;
  LOCKSTEP_ASSIGN_OR_RETURN(Condensed condensed, CondenseFiles(flags, ingest, stop));
  const std::vector<FileReport>& files = condensed.outcome.files;
  if (!asked.time_ns || std::none_of(files.begin(), files.end(), IsUsable)) {
    return condensed;
  }
  LOCKSTEP_ASSIGN_OR_RETURN(selection.windows, TimeWindows(condensed.cluster->store(), ingest.run, asked));
  return CondenseFiles(flags, ingest, stop);
}

int AnalyzeFiles(const AnalyzeFlags& flags, const AnalysisOptions& asked, const EmbeddedIngest& ingest,
                 const StopOnSignals& signals) {
  const absl::StatusOr<Condensed> condensed = CondenseAsAsked(flags, asked, ingest, signals.token());
  if (!condensed.ok()) {
    const bool interrupted = signals.signal() != 0 && absl::IsCancelled(condensed.status());
    return Complain(condensed.status(), interrupted ? 128 + signals.signal() : ExitCodeOf(condensed.status()));
  }
  const IngestOutcome& outcome = condensed->outcome;
  if (outcome.held > 0) {
    fmt::print(stderr, "lockstep: {} of {} files are unchanged since they were stored and were not read again\n",
               outcome.held, outcome.files.size());
  }
  TellProblems(outcome, flags.paths);
  if (std::none_of(outcome.files.begin(), outcome.files.end(), IsUsable)) {
    return Complain(NoTraceIn(flags.paths, ingest.inputs), kExitNoInput);
  }
  if (!flags.step_range.empty()) {
    if (const absl::Status there = CheckStepRange(condensed->cluster->store(), ingest.run, flags.step_range);
        !there.ok()) {
      if (outcome.is_new) condensed->cluster->DropRun(ingest.run);
      return Complain(there, kExitUsage);
    }
  }
  const ShownReport shown = ShowReport(condensed->cluster->query(), ingest.run, flags.report, asked);
  if (outcome.is_new && !shown.can_be_analysed) {
    condensed->cluster->DropRun(ingest.run);
  }
  return shown.exit_code;
}

int Analyze(const AnalyzeFlags& flags) {
  SetLogLevel(*LogLevelFromName(flags.report.log_level));
  const absl::StatusOr<AnalysisOptions> asked = OptionsFrom(flags.report);
  if (!asked.ok()) {
    return Complain(asked.status(), kExitUsage);
  }
  const absl::StatusOr<EmbeddedIngest> ingest = IngestFrom(flags);
  if (!ingest.ok()) {
    return Complain(ingest.status(), kExitUsage);
  }
  const StopOnSignals signals;
  return AnalyzeFiles(flags, *asked, *ingest, signals);
}

}  // namespace

std::function<int()> AddAnalyzeCommand(CLI::App& verb) {
  auto flags = std::make_shared<AnalyzeFlags>();
  constexpr const char* kInput = "Input";
  constexpr const char* kStore = "Store";
  verb.add_option("PATH", flags->paths,
                  "trace files, or folders with traces: Nsight Systems exports (*.sqlite) and PyTorch traces (*.json, "
                  "*.json.gz)")
      ->required();
  verb.add_option("--rank-map", flags->rank_map,
                  "CSV file that says which rank a file, process or device is; header path,pid,device,rank,host")
      ->option_text("FILE")
      ->group(kInput);
  verb.add_option("--host", flags->host,
                  "host name of traces that do not name theirs: a name, auto (this machine) or none")
      ->option_text("NAME")
      ->default_str("none")
      ->group(kInput);
  verb.add_option("--expect-ranks", flags->expect_ranks,
                  "number of ranks of the job; the run is complete once there is a trace of each")
      ->check(WholeNumber(1, INT32_MAX))
      ->option_text("N")
      ->group(kInput);
  verb.add_option("--step-range", flags->step_range,
                  "name of the NVTX ranges or annotations that mark steps; a stored run keeps the name that it was "
                  "first stored with, unless --replace is given")
      ->option_text("NAME")
      ->group(kInput);
  verb.add_option("--context", flags->context,
                  "what the traces do not say, such as model=llama,batch=64: it is kept with the run, and comparisons "
                  "show it. A lockstep-context.json in the folder of a trace says the same")
      ->option_text("KEY=VALUE,...")
      ->delimiter(',')
      ->group(kInput);
  verb.add_option("--jobs", flags->jobs, "number of files read at a time (default: the number of cores)")
      ->check(WholeNumber(1))
      ->option_text("N")
      ->group(kInput);
  verb.add_option("--tmp", flags->tmp, "folder for temporary files that sort large traces (default: $TMPDIR)")
      ->option_text("DIR")
      ->group(kInput);
  verb.add_option("--store", flags->store,
                  "keep the result in this SQLite file; files that it already has, unchanged, are not read again")
      ->option_text("FILE")
      ->group(kStore);
  verb.add_option("--run", flags->run,
                  "name of the run (default: the folder that all files are in; for a single file its name)")
      ->option_text("NAME")
      ->group(kStore);
  verb.add_flag("--replace", flags->replace, "first remove what the store has of this run")->group(kStore);
  AddReportFlags(verb, flags->report);
  verb.footer(
      "Examples:\n"
      "  lockstep analyze traces/\n"
      "      who makes the other ranks wait, how much and why\n"
      "  lockstep analyze rank*.json.gz --view skew --instances=all --format json\n"
      "      every collective with the waiting of each of its members\n"
      "  lockstep analyze report.sqlite --view kernels --format csv --csv-style nsys\n"
      "      the table of `nsys stats`, over all ranks\n"
      "  lockstep analyze traces/ --steps 10..20 --view overlap\n"
      "      only the steps 10 to 20\n"
      "  lockstep analyze report.sqlite --nvtx NCCL:ncclAllReduce --view kernels\n"
      "      only what was launched inside these NVTX ranges\n"
      "  lockstep analyze traces/ --store runs.db --run monday\n"
      "      keep the result; `lockstep show monday --store runs.db` shows it again");
  return [flags] { return Analyze(*flags); };
}

}  // namespace lockstep
