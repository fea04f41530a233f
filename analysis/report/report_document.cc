#include "analysis/report/report_document.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "analysis/report/list_options.h"
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
    const Replay& replay = *parts_.Causes().sample->replay;
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

}  // namespace

std::vector<std::string> ShownViews(const AnalysisOptions& options) {
  std::vector<std::string> shown;
  std::copy_if(AllViews().begin(), AllViews().end(), std::back_inserter(shown),
               [&](const std::string& view) { return Asked(options, view); });
  return shown;
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

}  // namespace lockstep
