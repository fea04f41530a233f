#include "analysis/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "analysis/report/list_options.h"
#include "analysis/report/run_chapters.h"
#include "analysis/report/shared_parts.h"
#include "analysis/report/views/clock_view.h"
#include "analysis/report/views/collectives_view.h"
#include "analysis/report/views/empty_views.h"
#include "analysis/report/views/findings_view.h"
#include "analysis/report/views/host_views.h"
#include "analysis/report/views/imbalance_view.h"
#include "analysis/report/views/kernels_view.h"
#include "analysis/report/views/memory_view.h"
#include "analysis/report/views/overlap_view.h"
#include "analysis/report/views/quality_view.h"
#include "analysis/report/views/rank_views.h"
#include "analysis/report/views/ranks_view.h"
#include "analysis/report/views/run_object.h"
#include "analysis/report/views/selection_notices.h"
#include "analysis/report/views/skew_view.h"
#include "analysis/report/views/step_views.h"
#include "analysis/report/views/stragglers_view.h"
#include "analysis/report/views/summary_view.h"
#include "analysis/report/views/tails_view.h"

namespace lockstep {
namespace {

constexpr std::string_view kSchema = "lockstep.report/1";

bool Asked(const AnalysisOptions& options, std::string_view view) {
  return std::any_of(options.views.begin(), options.views.end(),
                     [&](const std::string& asked) { return asked == view || asked == "all"; });
}

absl::Status CheckOptions(const AnalysisOptions& options) {
  for (const std::string& view : options.views) {
    if (view != "all" && !IsView(view)) {
      return absl::InvalidArgumentError(
          fmt::format("--view '{}': there is no such view; there are {}, all", view, fmt::join(AllViews(), ", ")));
    }
  }
  if (!options.layout.empty()) LOCKSTEP_RETURN_IF_ERROR(ParseLayout(options.layout).status());
  if (options.limit && *options.limit < 0) {
    return absl::InvalidArgumentError(fmt::format("--limit {}: must not be negative", *options.limit));
  }
  return absl::OkStatus();
}

// The files that can be one run, and the command that analyses them alone.
std::string DescribeGroups(const RunData& run, const RankResolution& ranks) {
  std::string text = fmt::format("these files are {} different runs: {}", ranks.groups.size(), ranks.groups_reason);
  for (size_t i = 0; i < ranks.groups.size(); ++i) {
    std::set<std::string> paths;
    for (const size_t source : ranks.groups[i]) paths.insert(run.sources[source].context.path);
    text += fmt::format("\n  run {} ({} files): lockstep analyze", i + 1, paths.size());
    for (const std::string& path : paths) text += fmt::format(" '{}'", path);
  }
  return text;
}

absl::Status CheckRanks(const RunData& run, const RankResolution& ranks, const AnalysisOptions& options) {
  if (ranks.groups.size() > 1) return absl::FailedPreconditionError(DescribeGroups(run, ranks));
  if (ranks.ranks.empty()) {
    std::string text = "no usable input: no rank trace is left to analyse";
    for (const RefusedSource& refused : ranks.refused) {
      text += fmt::format("\n  {}: {}", run.sources[refused.source].context.path, refused.detail);
    }
    return absl::FailedPreconditionError(text);
  }
  const std::vector<bool> selected = SelectedRanks(ranks, options);
  if (std::find(selected.begin(), selected.end(), true) != selected.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("--ranks {}: none of them is in this run", fmt::join(options.ranks, ",")));
}

// Builds the views that were asked for.
class ReportBuilder {
 public:
  ReportBuilder(const ViewInput& input, InstanceSums& sums) : input_(input), parts_(input, sums) {}

  absl::Status Prepare(const std::vector<std::string>& views) { return parts_.Prepare(views); }

  absl::StatusOr<Json> Build(std::string_view view) {
    if (view == "summary") return Summary();
    if (view == "ranks") return RanksView(input_.context);
    if (view == "quality") return QualityView(input_, parts_.QualityOf());
    if (view == "kernels") return KernelsView(input_);
    if (view == "families") return FamiliesView(input_);
    if (view == "collectives") return CollectivesView(input_.context, parts_.Collectives());
    if (view == "skew") return SkewView(input_.context, parts_.Skew(), parts_.Listed());
    if (view == "overlap") return OverlapView(input_);
    if (view == "imbalance") return BuildImbalance();
    if (view == "tails") return Tails();
    if (view == "stragglers") return StragglersView(input_, parts_.Causes().stragglers);
    if (view == "findings") return Findings();
    return BuildPlain(view);
  }

 private:
  absl::StatusOr<Json> BuildPlain(std::string_view view) {
    if (view == "idle") return IdleView(input_);
    if (view == "host") return HostView(input_);
    if (view == "launches") return LaunchesView(input_);
    if (view == "nvtx") return NvtxView(input_);
    if (view == "memory") return MemoryView(input_);
    if (view == "steps") return StepsView(input_);
    if (view == "pace") return PaceView(input_);
    LOCKSTEP_CHECK(view == "clock");  // CheckOptions let nothing else through
    return ClockView(input_);
  }

  absl::StatusOr<Json> Summary() {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<TailRow>* tails, parts_.Tails());
    const CrossRank& causes = parts_.Causes();
    return SummaryView(input_, {parts_.ImbalanceOf(), parts_.QualityOf(), *tails, parts_.Collectives(), parts_.Late(),
                                &causes.stragglers, &causes.blame});
  }

  absl::StatusOr<Json> Tails() {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<TailRow>* tails, parts_.Tails());
    return TailsView(input_, *tails);
  }

  absl::StatusOr<Json> Findings() {
    LOCKSTEP_ASSIGN_OR_RETURN(const KernelSummary kernels,
                              ComputeKernels(input_.fleet, GroupBy::kShape, StepFigures::kDistributions));
    return FindingsView(input_, ComputeFindings({input_.fleet, input_.measures, kernels, parts_.QualityOf(),
                                                 parts_.Causes().stragglers}));
  }

  Json BuildImbalance() {
    const Replay& replay = *parts_.Causes().replay;
    Imbalance imbalance = parts_.ImbalanceOf();
    const int64_t measured_ns = replay.base().measured_ns;
    const auto ideal_ns = ZeroTransferNs(replay);
    if (ideal_ns && measured_ns > 0 && !JudgedOnMore(input_.fleet)) {
      SetIdealTime(static_cast<double>(*ideal_ns) / static_cast<double>(measured_ns), imbalance.efficiency);
    }
    return ImbalanceView(input_, imbalance);
  }

  const ViewInput& input_;
  SharedParts parts_;
};

std::vector<std::string> ShownViews(const AnalysisOptions& options) {
  std::vector<std::string> shown;
  std::copy_if(AllViews().begin(), AllViews().end(), std::back_inserter(shown),
               [&](const std::string& view) { return Asked(options, view); });
  return shown;
}

// A view as it stands in the document; memory comes with the allocations.
absl::StatusOr<Json> BuildView(const ViewInput& input, ReportBuilder& builder, const std::string& view) {
  Json part = Json::object();
  LOCKSTEP_ASSIGN_OR_RETURN(part[view], builder.Build(view));
  if (view == "memory") part["allocation"] = AllocationView(input);
  NotifyOfEmptyViews(input, part);
  return part;
}

// Of what was told so far that of the views shown, and of what is no view.
Json NoticesJson(const std::vector<Notice>& notices, const Json& views) {
  Json list = Json::array();
  std::set<Notice> seen;
  for (const Notice& notice : notices) {
    const std::string view = notice.view == "allocation" ? "memory" : notice.view;
    if (IsView(view) && !views.contains(view)) continue;
    if (seen.insert(notice).second) list.push_back({{"view", notice.view}, {"reason", notice.reason}});
  }
  return list;
}

Json Document(const ViewInput& input, Json views) {
  Json report;
  report["schema"] = kSchema;
  report["notices"] = NoticesJson(input.context.notices, views);
  report["run"] = RunObject(input);
  for (auto& [view, content] : views.items()) report[view] = std::move(content);
  return report;
}

absl::StatusOr<Json> BuildWhole(const ViewInput& input, InstanceSums& sums, const AnalysisOptions& options) {
  Json views = Json::object();
  ReportBuilder builder(input, sums);
  const std::vector<std::string> shown = ShownViews(options);
  LOCKSTEP_RETURN_IF_ERROR(builder.Prepare(shown));
  for (const std::string& view : shown) {
    LOCKSTEP_ASSIGN_OR_RETURN(Json part, BuildView(input, builder, view));
    for (auto& [key, content] : part.items()) views[key] = std::move(content);
  }
  LOCKSTEP_RETURN_IF_ERROR(ApplyListOptions(options, views));
  return Document(input, std::move(views));
}

absl::Status BuildEach(const ViewInput& input, InstanceSums& sums, const AnalysisOptions& options,
                       const ViewSink& sink) {
  ReportBuilder builder(input, sums);
  const std::vector<std::string> shown = ShownViews(options);
  LOCKSTEP_RETURN_IF_ERROR(builder.Prepare(shown));
  for (const std::string& view : shown) {
    LOCKSTEP_ASSIGN_OR_RETURN(Json part, BuildView(input, builder, view));
    LOCKSTEP_RETURN_IF_ERROR(ApplyListOptions(options, part));
    sink(view, Document(input, std::move(part)));
  }
  return absl::OkStatus();
}

// What-ifs of a run that is taken through in chapters are of one of them.
void NotifyOfSample(const ViewInput& input, const RunChapters& chapters) {
  if (chapters.span_ns() == 0) return;
  const auto seconds = [](int64_t ns) { return static_cast<double>(ns) * 1e-9; };
  const RunSpan sample = chapters.sample_span();
  for (const std::string_view view : {"stragglers", "imbalance"}) {
    input.Notify(view, fmt::format("what-ifs replay {:.4g} s from {:.4g} s after the run's start on, of {:.4g} s",
                                   seconds(sample.end_ns - sample.start_ns), seconds(input.SinceStart(sample.start_ns)),
                                   seconds(chapters.span_ns())));
  }
}

// Takes every chapter of the run through the sums.
absl::Status SumChapters(RunChapters& chapters, const Fleet& fleet, const std::vector<bool>& selected,
                         std::vector<Notice>& notices, Executor& executor, FleetMeter& meter, InstanceSums& sums) {
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool more, chapters.Next());
    if (!more) return absl::OkStatus();
    const Chapter& chapter = chapters.chapter();
    LOCKSTEP_RETURN_IF_ERROR(meter.Add(chapter, chapters.rows(), executor));
    LOCKSTEP_ASSIGN_OR_RETURN(auto named_rows,
                              NamedRows(fleet.run, chapters.rows(), fleet.ranks, fleet.options.kernels));
    LOCKSTEP_ASSIGN_OR_RETURN(auto range_rows, RangeRows(fleet, chapters.rows()));
    const AnalysisContext context{
        fleet.run,          chapters.rows(), fleet.options, fleet.ranks,           chapter.match,        executor,
        fleet.run_start_ns, selected,        notices,       std::move(named_rows), std::move(range_rows)};
    LOCKSTEP_RETURN_IF_ERROR(sums.Add(chapter, context, chapters.sample()));
  }
}

// What all views are computed from, handed to `build`.
template <typename Build>
auto Analyse(const RunData& run, InstanceSource& instances, const AnalysisOptions& options, Executor& executor,
             const ChapterLimits& limits, const Build& build)
    -> decltype(build(std::declval<const ViewInput&>(), std::declval<InstanceSums&>())) {
  LOCKSTEP_RETURN_IF_ERROR(CheckOptions(options));
  const RankResolution ranks = ResolveRanks(run, options);
  LOCKSTEP_RETURN_IF_ERROR(CheckRanks(run, ranks, options));
  const std::vector<bool> selected = SelectedRanks(ranks, options);
  const std::vector<std::string> shown = ShownViews(options);
  std::vector<Notice> notices;
  RunChapters chapters(run, instances, ranks, limits, executor);
  LOCKSTEP_RETURN_IF_ERROR(chapters.Open());
  Fleet fleet = MakeFleet(run, ranks, chapters.match(), options);
  FleetMeter meter(fleet);
  InstanceSums sums(fleet, shown, chapters.span_ns());
  LOCKSTEP_RETURN_IF_ERROR(SumChapters(chapters, fleet, selected, notices, executor, meter, sums));
  const FleetMeasures measures = meter.Finish();
  fleet.run_start_ns = SpanOf(run, ranks, chapters.match().clock).start_ns;  // on all that is known now
  const AnalysisContext context{run,      instances,          options,  ranks,  chapters.match(),
                                executor, fleet.run_start_ns, selected, notices};
  const ViewInput input{context, fleet, measures};
  NotifyOfSelection(input, shown);
  NotifyOfSample(input, chapters);
  return build(input, sums);
}

}  // namespace

const std::vector<std::string>& AllViews() {
  static const std::vector<std::string> views = {"summary",     "ranks", "quality",  "kernels",    "families",
                                                 "collectives", "skew",  "overlap",  "imbalance",  "tails",
                                                 "idle",        "host",  "launches", "nvtx",       "memory",
                                                 "steps",       "pace",  "clock",    "stragglers", "findings"};
  return views;
}

bool IsView(std::string_view name) { return std::find(AllViews().begin(), AllViews().end(), name) != AllViews().end(); }

absl::StatusOr<Json> BuildReport(const RunData& run, InstanceSource& instances, const AnalysisOptions& options,
                                 Executor& executor, const ChapterLimits& limits) {
  return Analyse(run, instances, options, executor, limits,
                 [&](const ViewInput& input, InstanceSums& sums) { return BuildWhole(input, sums, options); });
}

absl::Status BuildReports(const RunData& run, InstanceSource& instances, const AnalysisOptions& options,
                          Executor& executor, const ViewSink& sink, const ChapterLimits& limits) {
  return Analyse(run, instances, options, executor, limits,
                 [&](const ViewInput& input, InstanceSums& sums) { return BuildEach(input, sums, options, sink); });
}

}  // namespace lockstep
