#include "analysis/base/executor.h"
#include "analysis/model/instance_source.h"
#include "analysis/report/json.h"

#include <algorithm>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/report/analysis_steps.h"
#include "analysis/report/empty_selection.h"
#include "analysis/report/report_document.h"
#include "analysis/report/rows/document.h"
#include "analysis/report/views/selection_notices.h"

namespace lockstep {
namespace {

// What all views are computed from, handed to `build`.
template <typename Build>
auto Analyse(const RunData& run, InstanceSource& instances, const AnalysisOptions& options, Executor& executor,
             const ChapterLimits& limits, const Build& build)
    -> decltype(build(std::declval<const ViewInput&>(), std::declval<InstanceSums&>())) {
  LOCKSTEP_RETURN_IF_ERROR(CheckOptions(options));
  const RankResolution ranks = ResolveRanks(run, options);
  LOCKSTEP_RETURN_IF_ERROR(CheckRanks(run, ranks, options));
  LOCKSTEP_RETURN_IF_ERROR(CheckLayout(ranks, options));
  const std::vector<bool> selected = SelectedRanks(ranks, options);
  const std::vector<std::string> shown = ShownViews(options);
  std::vector<Notice> notices;
  RunChapters chapters(run, instances, ranks, limits, executor);
  LOCKSTEP_RETURN_IF_ERROR(chapters.Open());
  Fleet fleet = MakeFleet(run, ranks, chapters.match(), options);
  LOCKSTEP_RETURN_IF_ERROR(CheckSelection(fleet));
  FleetMeter meter(fleet);
  InstanceSums sums(fleet, shown, chapters.extent());
  LOCKSTEP_RETURN_IF_ERROR(SumChapters(chapters, fleet, selected, notices, executor, meter, sums));
  const FleetMeasures measures = meter.Finish();
  fleet.run_start_ns = SpanOf(run, ranks, chapters.match().clock).start_ns;  // on all that is known now
  LOCKSTEP_RETURN_IF_ERROR(CheckTimeAndNames(fleet));
  const AnalysisContext context{run,      instances,          options,  ranks,  chapters.match(),
                                executor, fleet.run_start_ns, selected, notices};
  const ViewInput input{context, fleet, measures};
  NotifyOfSelection(input, shown);
  NotifyOfSample(input, chapters);
  return build(input, sums);
}

}  // namespace

const std::vector<std::string>& KnownViews() {
  static const std::vector<std::string> views = [] {
    std::vector<std::string> names;
    for (const report::Field& field : report::Document::Fields().fields()) {
      // What may be left out are the views; `allocation` comes with `memory`.
      if (field.left_out_if_null && field.name != "allocation") names.emplace_back(field.name);
    }
    return names;
  }();
  return views;
}

const std::vector<std::string>& AllViews() {
  static const std::vector<std::string> views = [] {
    std::vector<std::string> names = KnownViews();
    std::erase_if(names, [](const std::string& name) { return !IsInAll(name); });
    return names;
  }();
  return views;
}

bool IsView(std::string_view name) {
  return std::find(KnownViews().begin(), KnownViews().end(), name) != KnownViews().end();
}

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
