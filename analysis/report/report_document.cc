#include "analysis/report/report_document.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "analysis/report/json.h"
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

// Builds one view; what it has to tell goes to the notices of the input.
class ViewBuilder {
 public:
  ViewBuilder(const ViewInput& input, const SharedParts& parts) : input_(input), parts_(parts) {}

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
    if (view == "tails") return TailsView(input_, parts_.Tails());
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

  Json Summary() {
    const CrossRank& causes = parts_.Causes();
    return SummaryView(input_, {parts_.ImbalanceOf(), parts_.QualityOf(), parts_.Tails(), parts_.Collectives(),
                                parts_.Late(), &causes.stragglers, &causes.blame});
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
  const SharedParts& parts_;
};

// A view as it stands in the document; memory comes with the allocations.
absl::StatusOr<Json> BuildView(const ViewInput& input, const SharedParts& parts, const std::string& view) {
  Json part = Json::object();
  LOCKSTEP_ASSIGN_OR_RETURN(part[view], ViewBuilder(input, parts).Build(view));
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

Json DocumentOf(const ViewInput& input, Json views) {
  Json report;
  report["schema"] = kSchema;
  report["notices"] = NoticesJson(input.context.notices, views);
  report["run"] = RunObject(input);
  for (auto& [view, content] : views.items()) report[view] = std::move(content);
  return report;
}

// The input of a view that is built beside others, with notices of its own: first those that were told before.
class OwnInput {
 public:
  explicit OwnInput(const ViewInput& input)
      : notices_(input.context.notices),
        context_(With(notices_, input.context)),
        input_{context_, input.fleet, input.measures} {}
  OwnInput(const OwnInput&) = delete;
  OwnInput& operator=(const OwnInput&) = delete;

  [[nodiscard]] const ViewInput& Get() const { return input_; }
  [[nodiscard]] const std::vector<Notice>& notices() const { return notices_; }

 private:
  static AnalysisContext With(std::vector<Notice>& notices, const AnalysisContext& c) {
    return {c.run,          c.instances,      c.options, c.ranks,      c.match,     c.executor,
            c.run_start_ns, c.selected_ranks, notices,   c.named_rows, c.range_rows};
  }

  std::vector<Notice> notices_;
  const AnalysisContext context_;
  const ViewInput input_;
};

// A few at a time, because each takes memory. The longest views are among the last: they are begun first.
void SideBySide(const ViewInput& input, size_t views, const std::function<void(size_t)>& build) {
  constexpr size_t kLanes = 6;
  input.context.executor.ParallelFor(std::min(views, kLanes), [&](size_t lane) {
    for (size_t i = lane; i < views; i += kLanes) build(views - 1 - i);
  });
}

// A view as a report of its own.
absl::StatusOr<std::string> ViewTextOf(const ViewInput& input, const SharedParts& parts, const AnalysisOptions& options,
                                       const std::string& view) {
  const OwnInput own(input);
  LOCKSTEP_ASSIGN_OR_RETURN(Json part, BuildView(own.Get(), parts, view));
  LOCKSTEP_RETURN_IF_ERROR(ApplyListOptions(options, part));
  return RenderJson(DocumentOf(own.Get(), std::move(part)));
}

// A view as a part of a report, with all that was told until then.
struct BuiltView {
  absl::StatusOr<Json> view;
  std::vector<Notice> notices;
};
BuiltView BuiltViewOf(const ViewInput& input, const SharedParts& parts, const std::string& view) {
  const OwnInput own(input);
  absl::StatusOr<Json> built = BuildView(own.Get(), parts, view);
  return {std::move(built), own.notices()};
}

}  // namespace

std::vector<std::string> ShownViews(const AnalysisOptions& options) {
  std::vector<std::string> shown;
  std::copy_if(AllViews().begin(), AllViews().end(), std::back_inserter(shown),
               [&](const std::string& view) { return Asked(options, view); });
  return shown;
}

absl::StatusOr<Json> BuildWhole(const ViewInput& input, InstanceSums& sums, const AnalysisOptions& options) {
  const std::vector<std::string> shown = ShownViews(options);
  SharedParts parts(input, sums);
  LOCKSTEP_RETURN_IF_ERROR(parts.Prepare(shown));
  std::vector<BuiltView> built(shown.size());
  SideBySide(input, shown.size(), [&](size_t i) { built[i] = BuiltViewOf(input, parts, shown[i]); });
  const auto told = static_cast<std::ptrdiff_t>(input.context.notices.size());
  Json views = Json::object();
  for (BuiltView& part : built) {
    LOCKSTEP_RETURN_IF_ERROR(part.view.status());
    for (auto& [key, content] : part.view->items()) views[key] = std::move(content);
    input.context.notices.insert(input.context.notices.end(), part.notices.begin() + told, part.notices.end());
  }
  LOCKSTEP_RETURN_IF_ERROR(ApplyListOptions(options, views));
  return DocumentOf(input, std::move(views));
}

absl::Status BuildEach(const ViewInput& input, InstanceSums& sums, const AnalysisOptions& options,
                       const ViewSink& sink) {
  const std::vector<std::string> shown = ShownViews(options);
  SharedParts parts(input, sums);
  LOCKSTEP_RETURN_IF_ERROR(parts.Prepare(shown));
  std::vector<absl::StatusOr<std::string>> texts(shown.size());
  SideBySide(input, shown.size(), [&](size_t i) { texts[i] = ViewTextOf(input, parts, options, shown[i]); });
  for (size_t i = 0; i < shown.size(); ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(std::string text, std::move(texts[i]));
    sink(shown[i], std::move(text));
  }
  return absl::OkStatus();
}

}  // namespace lockstep
